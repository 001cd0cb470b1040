/* service/page_query.c - the page's queries on their way through the core */

#include "service/page_query.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "service/why.h"

/* The connections of clients have lesser numbers. */
static const uint64_t PAGE_CLIENT = UINT64_MAX;

void
page_queries_init(struct page_queries *queries, void *owner)
{
    pthread_mutex_init(&queries->lock, NULL);
    for (size_t i = 0; i < COUNT_OF(queries->items); i++)
        queries->items[i].owner = owner;
}

void
page_queries_deinit(struct page_queries *queries)
{
    pthread_mutex_destroy(&queries->lock);
}

struct page_query *
page_query_begin(struct page_queries *queries, uint64_t number, const char *job)
{
    struct page_query *query = NULL;

    pthread_mutex_lock(&queries->lock);
    for (size_t i = 0; !query && i < COUNT_OF(queries->items); i++) {
        if (!queries->items[i].is_used)
            query = &queries->items[i];
    }
    if (query)
        query->is_used = true;
    pthread_mutex_unlock(&queries->lock);
    if (!query)
        return NULL;
    query->number = number;
    snprintf(query->job, sizeof(query->job), "%s", job);
    return query;
}

void
page_query_end(struct page_queries *queries, struct page_query *query)
{
    pthread_mutex_lock(&queries->lock);
    query->is_used = false;
    pthread_mutex_unlock(&queries->lock);
}

struct page_query *
page_query_of_ticket(struct page_queries *queries, uint64_t ticket)
{
    for (size_t i = 0; i < COUNT_OF(queries->items); i++) {
        if (ticket == (uint64_t)(uintptr_t)&queries->items[i])
            return &queries->items[i];
    }
    return NULL;
}

struct cluster_event
page_query_event(const struct page_query *query,
                 const char *token,
                 uint64_t now_ns)
{
    return (struct cluster_event){
        .kind = query->job[0] ? CLUSTER_WHY : CLUSTER_JOBS,
        .now_ns = now_ns,
        .ticket = (uint64_t)(uintptr_t)query,
        .client = PAGE_CLIENT,
        .deadline_ns = now_ns + PAGE_QUERY_TIMEOUT_MS * CLOCK_NS_PER_MS,
        .job = query->job,
        .token = token,
        .role = ROLE_OPERATOR,
    };
}

/* Keep the verdict on a job. Returns what the page is told of the job; NULL: it
 * has not asked, or there is no memory. */
static char *
job_reply_take(const struct page_query *query,
               const struct cluster_job_detail *job,
               const struct job_json_context *context,
               struct page_verdicts *verdicts)
{
    struct verdict verdict = {.kind = ""};
    char *json = NULL;

    if (query->number != PAGE_QUERY_FOR_VERDICT) {
        json = job_json(job, context, &verdict);
        page_verdicts_watch(verdicts, job->line.name, context->now_ns);
    } else if (why_explain(job, &verdict) != HOOP_OK) {
        return NULL;
    }
    if (verdict.kind[0])
        page_verdicts_keep(verdicts, &job->line, &verdict, context->now_ns);
    return json;
}

char *
page_query_take_reply(const struct page_query *query,
                      const struct cluster_reply *reply,
                      const struct job_json_context *context,
                      struct page_verdicts *verdicts)
{
    if (reply->kind == CLUSTER_REPLY_WHY)
        return job_reply_take(query, &reply->job, context, verdicts);
    if (query->number == PAGE_QUERY_FOR_VERDICT)
        return NULL;
    if (reply->kind != CLUSTER_REPLY_JOBS)
        return error_json(reply->text);
    page_verdicts_list(verdicts, &reply->jobs, context->now_ns);
    return jobs_json(&reply->jobs, verdicts, context);
}
