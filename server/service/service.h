/*
 * service/service.h - connects the coordinator's core to its RPC server
 *
 * Requests become events; actions become replies and log lines; deadlines
 * become a timer of the loop. Decisions are made in server/core.
 *
 * Thread: the loop's, or before loop_run() and after it has returned, except
 * where noted.
 */

#ifndef SERVICE_SERVICE_H
#define SERVICE_SERVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "hoop/status.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/role.h"
#include "core/action.h"
#include "core/cluster.h"
#include "storage/folder_lock.h"

struct loop;
struct rpc_tls;
struct service;

/* A query of the page is answered: json is one line of JSON, and the callee
 * frees it; NULL: no memory. If status is not HOOP_OK, its "error" says why.
 * Called on the loop. */
typedef void
service_answer_fn(void *owner,
                  uint64_t number,
                  enum hoop_status status,
                  char *json);
/* Something has happened to a job, or to hoopd if job is "". Both texts are
 * borrowed. Called on the loop. */
typedef void
service_news_fn(void *owner, const char *job, const char *json);

struct service_options {
    struct loop *loop;              /* borrowed; must outlive the service */
    struct rpc_tls *rpc_tls;        /* borrowed; must outlive the service;
                                       NULL: no TLS */
    const char *address;            /* host:port; borrowed for the call */
    const char *version;            /* reported to operators; borrowed */
    struct cluster_options cluster; /* borrowed for the call */
    const char *data_dir; /* where to store state, borrowed for the call;
                             NULL: nothing is stored */
    enum storage_durability durability; /* of data_dir */
    size_t
        n_connections_per_origin_max; /* connections per client address; 0: the default */
    service_answer_fn *on_answer; /* NULL: there is no page */
    service_news_fn *on_news;     /* NULL: there is no page */
    void *page_owner;             /* passed to both */
};

/* Draining is finished. Called on the loop. */
typedef void
service_drained_fn(void *owner);

/*
 * Create the service; it listens when this returns. Handle: HOOP_E_UNAVAILABLE
 * (address in use), HOOP_E_INVALID (options), HOOP_E_EXISTS (another
 * coordinator uses data_dir); HOOP_E_DATA_LOSS and others (data_dir cannot be
 * used).
 */
enum hoop_status
service_create(const struct service_options *options,
               struct service **out_service);

/* NULL is allowed. */
void
service_destroy(struct service *service);

DEFINE_CLEANUP(struct service *, service_destroy)

/*
 * Refuse new work, answer what is parked, then call on_drained, after
 * timeout_ms at the latest. With a data_dir a successor is expected: parked and
 * new requests are left unanswered, so that clients send them to the successor.
 */
void
service_drain(struct service *service,
              uint64_t timeout_ms,
              service_drained_fn *on_drained,
              void *owner);

/* Return whether another coordinator has taken over the data: this one answers
 * no more requests and should end. Thread: any. */
bool
service_is_replaced(const struct service *service);

uint16_t
service_port(const struct service *service);

/* Return NULL if new work is taken and the storage can write; otherwise a line
 * that says why not. Thread: any. */
const char *
service_unready_text(const struct service *service);

/* Count the members of all jobs, and the joins so far. Thread: any. */
void
service_get_member_counts(const struct service *service,
                          uint64_t *out_n_members,
                          uint64_t *out_n_joins);

/* Write Prometheus' text format. Thread: any. */
void
service_write_metrics(struct service *service, FILE *out);

/*
 * Query a job and which call each of its ranks is in; "": the list of jobs. It
 * is answered by on_answer() with the same number, within seconds. Returns false
 * if there are too many queries. Thread: any.
 */
bool
service_query(struct service *service, uint64_t number, const char *job);

/* Report to on_news() that the service has started. Call before the loop runs. */
void
service_report_start(struct service *service);

/*
 * Lines that can be caused by clients without a token, or with one that only
 * allows to look, are limited by a quota. Thread: the loop's.
 */

/* Zeroed: nothing has been logged. */
struct notices {
    struct log_quota refusals;
};

/* Log a notice. peer is the client whose request caused it, with a token for
 * role; NULL: no request did. Refusals of clients with a worker's token are not
 * limited, because those take part in the job. */
void
client_notice_log(struct notices *notices,
                  const struct cluster_log_notice *notice,
                  enum role role,
                  const char *peer);

/* Log a request that was refused before it reached the core; this thread's
 * error text says why. */
void
notices_log_refusal(struct notices *notices,
                    const char *method,
                    const char *peer);

/* Log from time to time how many lines the quota has suppressed. */
void
notices_log_suppressed(struct notices *notices, uint64_t now_ns);

#endif
