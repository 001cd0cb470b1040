/*
 * service/page_query.h - the page's queries on their way through the core
 *
 * A query comes from the thread of the HTTP server and is answered on the
 * loop. Its address is its ticket.
 */

#ifndef SERVICE_PAGE_QUERY_H
#define SERVICE_PAGE_QUERY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "core/action.h"
#include "core/event.h"
#include "service/job_json.h"
#include "service/page_verdicts.h"

enum {
    /* One for each connection that may wait, one for the list of jobs, and those
     * for the verdicts in it, of two seconds. */
    PAGE_QUERIES_MAX = LIMIT_HTTP_CONNECTIONS + 1 + 2 * PAGE_VERDICT_TURNS,
    /* Longer than the core makes anybody wait. */
    PAGE_QUERY_TIMEOUT_MS = 2000,
};

/* Number of a query whose answer is only kept as the verdict on a job. */
static const uint64_t PAGE_QUERY_FOR_VERDICT = 0;

struct page_query {
    void *owner; /* passed to the post; set once */
    bool is_used;
    uint64_t number;
    char job[LIMIT_NAME]; /* "": the list of jobs */
};

struct page_queries {
    pthread_mutex_t lock; /* protects is_used */
    struct page_query items[PAGE_QUERIES_MAX];
};

void
page_queries_init(struct page_queries *queries, void *owner);
void
page_queries_deinit(struct page_queries *queries);

/* Return a query to post; NULL: there are too many. Thread: any. */
struct page_query *
page_query_begin(struct page_queries *queries,
                 uint64_t number,
                 const char *job);

/* The query may be reused now. Thread: any. */
void
page_query_end(struct page_queries *queries, struct page_query *query);

/* Return the query whose ticket this is; NULL: it is that of a request. */
struct page_query *
page_query_of_ticket(struct page_queries *queries, uint64_t ticket);

/* Return the event of a query. token is that of an operator. */
struct cluster_event
page_query_event(const struct page_query *query,
                 const char *token,
                 uint64_t now_ns);

/* Keep what the reply to a query tells of verdicts, and of jobs to ask for
 * them. Returns what the page is told, which the caller frees; NULL: nothing, as
 * the query is for a verdict, or there is no memory. */
char *
page_query_take_reply(const struct page_query *query,
                      const struct cluster_reply *reply,
                      const struct job_json_context *context,
                      struct page_verdicts *verdicts);

#endif
