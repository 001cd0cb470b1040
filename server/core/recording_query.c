/* core/recording_query.c - what a rank called last, asked of one member */

#include "core/recording_query.h"

#include "base/clock.h"
#include "base/error.h"
#include "core/job.h"
#include "core/member.h"
#include "core/memory.h"

enum {
    /* A recording of 1.4 MiB takes one second of a link of 12 Mbit/s. */
    RECORDING_QUERY_TIMEOUT_MS = 2000,
};

const struct recording_query *
recording_query_find(const struct job *job, uint64_t client)
{
    const struct recording_query *query;

    TAILQ_FOREACH(query, &job->recording_queries, link)
    {
        if (query->waiter && query->via->client == client)
            return query;
    }
    return NULL;
}

/* Check that job has these ranks, and that via can be asked. */
static enum hoop_status
recording_request_check(const struct cluster *cluster,
                        const struct job *job,
                        const struct cluster_recording_request *wanted)
{
    const uint32_t highest =
        wanted->rank > wanted->via ? wanted->rank : wanted->via;

    if (job->state != CLUSTER_JOB_RUNNING)
        return error_raise(HOOP_E_PRECONDITION,
                           "job \"%s\" has not formed, so its ranks have "
                           "recorded nothing",
                           job_public_name(job));
    if (highest >= job->world.size)
        return error_raise(HOOP_E_RANGE, "job \"%s\" has no rank %u: it has %u",
                           job_public_name(job), highest, job->world.size);

    const struct member *via = job->world.ranks[wanted->via];
    const struct waiter *watch = member_parked_watch(cluster, via);

    if (via->state != CLUSTER_MEMBER_ACTIVE)
        return error_raise(HOOP_E_ABORTED,
                           "%s cannot be asked for a record: it %s",
                           member_label(via).text, member_end_text(via).text);
    if (watch && watch->seen.recording_query == CLUSTER_NO_QUESTION)
        return error_raise(HOOP_E_ABORTED,
                           "%s cannot be asked for a record: its version of "
                           "hoop passes none on",
                           member_label(via).text);
    return HOOP_OK;
}

static void
recording_query_add(struct cluster *cluster,
                    struct waiter *waiter,
                    const struct cluster_recording_request *wanted)
{
    struct job *job = waiter->job;
    struct recording_query *query =
        memory_alloc_charged(&job->memory, 1, sizeof(*query));

    query->waiter = waiter;
    query->via = job->world.ranks[wanted->via];
    query->rank = wanted->rank;
    /* Use a number that no earlier life of the coordinator can have used. */
    query->number = cluster->last_recording_query < cluster->now_ns
                        ? cluster->now_ns
                        : cluster->last_recording_query + 1;
    cluster->last_recording_query = query->number;
    waiter->recording = query;
    TAILQ_INSERT_TAIL(&job->recording_queries, query, link);
    job_mark_touched(cluster, job);
}

enum hoop_status
recording_query_ask(struct cluster *cluster,
                    struct job *job,
                    const struct cluster_event *event)
{
    const uint64_t most_ns =
        cluster->now_ns + RECORDING_QUERY_TIMEOUT_MS * CLOCK_NS_PER_MS;
    struct job *present = job_newest_world(job);
    struct cluster_event shortened = *event;
    struct waiter *waiter = NULL;

    if (shortened.deadline_ns > most_ns)
        shortened.deadline_ns = most_ns;
    enum hoop_status status =
        recording_request_check(cluster, present, &event->wanted);
    if (status == HOOP_OK)
        status = waiter_park(cluster, present, &shortened, &waiter);
    if (status != HOOP_OK)
        return error_pass(status);
    recording_query_add(cluster, waiter, &event->wanted);
    return HOOP_OK;
}

/* Return the open question to via with this number, or NULL. */
static struct recording_query *
recording_query_by_number(const struct member *via, uint64_t number)
{
    struct recording_query *query;

    TAILQ_FOREACH(query, &via->job->recording_queries, link)
    {
        if (query->waiter && query->via == via && query->number == number)
            return query;
    }
    return NULL;
}

enum hoop_status
recording_query_take_answer(struct cluster *cluster,
                            struct job *job,
                            const struct cluster_event *event)
{
    const struct cluster_recording_answer *answer = &event->passed;
    struct action_list *list = &cluster->action_list;
    struct member *via = NULL;
    const enum hoop_status status =
        job_find_active_member(job, &answer->member, &via);

    if (status != HOOP_OK)
        return error_pass(status);
    action_list_add_reply(list, event->ticket);
    const struct recording_query *query =
        recording_query_by_number(via, answer->query);
    if (!query)
        return HOOP_OK; /* it comes too late */
    struct cluster_reply *reply = waiter_end_with_reply(cluster, query->waiter);
    if (answer->n_bytes > 0) {
        reply->kind = CLUSTER_REPLY_RECORDING;
        reply->recording = (struct cluster_recording){
            .bytes =
                action_list_copy_bytes(list, answer->bytes, answer->n_bytes),
            .n_bytes = answer->n_bytes,
        };
    } else
        action_list_fail_reply(list, reply, HOOP_E_NOT_FOUND, "%s: %s",
                               member_label(via).text, answer->why);
    job_mark_touched(cluster, job);
    return HOOP_OK;
}

void
recording_query_on_deadline(struct cluster *cluster, struct waiter *waiter)
{
    const struct member *via = waiter->recording->via;
    const uint64_t waited_ns = cluster->now_ns - waiter->parked_ns;

    job_mark_touched(cluster, waiter->job);
    action_list_fail_reply(
        &cluster->action_list, waiter_end_with_reply(cluster, waiter),
        HOOP_E_ABORTED,
        "%s has passed no record on within %.1f s: stopped, dead or cut off? "
        "hoopd last heard of it %.1f s ago",
        member_label(via).text, ns_to_seconds(waited_ns),
        ns_to_seconds(cluster->now_ns - via->renewed_ns));
}

static void
recording_query_free(struct job *job, struct recording_query *query)
{
    TAILQ_REMOVE(&job->recording_queries, query, link);
    memory_free_charged(&job->memory, query);
}

void
recording_queries_settle(struct cluster *cluster, struct job *job)
{
    struct recording_query *query = TAILQ_FIRST(&job->recording_queries);

    while (query) {
        struct recording_query *next = TAILQ_NEXT(query, link);
        const struct member *via = query->via;

        if (query->waiter && via->state != CLUSTER_MEMBER_ACTIVE)
            action_list_fail_reply(
                &cluster->action_list,
                waiter_end_with_reply(cluster, query->waiter), HOOP_E_ABORTED,
                "%s was asked for a record, but it %s", member_label(via).text,
                member_end_text(via).text);
        if (!query->waiter)
            recording_query_free(job, query);
        query = next;
    }
}

void
recording_queries_deinit(struct job *job)
{
    struct recording_query *query;

    while ((query = TAILQ_FIRST(&job->recording_queries)))
        recording_query_free(job, query);
}
