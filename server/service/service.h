/*
 * service/service.h - the coordinator's core behind its RPC server
 *
 * Requests become events, actions become replies and log lines, deadlines a
 * timer of the loop. What is right or wrong is decided in server/core.
 *
 * Thread: the loop's, or before loop_run() and after it has returned, except
 * where it says otherwise.
 */

#ifndef SERVICE_SERVICE_H
#define SERVICE_SERVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "hoop/status.h"

#include "base/cleanup.h"
#include "core/cluster.h"
#include "keep/folder_lock.h"

struct loop;
struct rpc_tls;
struct service;

struct service_options {
    struct loop *loop;              /* borrowed; must outlive the service */
    struct rpc_tls *rpc_tls;        /* likewise; NULL: no TLS */
    const char *address;            /* host:port; borrowed for the call */
    const char *version;            /* told to operators; borrowed */
    struct cluster_options cluster; /* borrowed for the call */
    const char *data_dir; /* NULL: nothing outlives the service; borrowed for
                             the call */
    enum storage_durability durability; /* of data_dir */
    size_t n_origin_max; /* connections of one address; 0: the default */
};

/* Called on the loop. */
typedef void
service_drained_fn(void *owner);

/*
 * Listens when it returns. Handle: HOOP_E_UNAVAILABLE (address in use),
 * HOOP_E_INVALID (options), HOOP_E_EXISTS (another coordinator uses data_dir);
 * HOOP_E_DATA_LOSS and others: data_dir cannot be used.
 */
enum hoop_status
service_create(const struct service_options *options,
               struct service **out_service);

/* NULL is fine. */
void
service_destroy(struct service *service);

DEFINE_CLEANUP(struct service *, service_destroy)

/*
 * Refuse new work, answer what is parked, then call on_drained; after
 * timeout_ms at the latest. With a data_dir a successor is expected: what is
 * parked, or comes now, is left unanswered, to be asked again there.
 */
void
service_drain(struct service *service,
              uint64_t timeout_ms,
              service_drained_fn *on_drained,
              void *owner);

/* Another coordinator uses the data: this one answers nobody any more, and should
 * end. Thread: any. */
bool
service_is_replaced(const struct service *service);

uint16_t
service_port(const struct service *service);

/* NULL: new work is taken, and what has to be kept can be. Else a line that says
 * why not. Thread: any. */
const char *
service_unready_text(const struct service *service);

/* Members of all jobs, and how many have joined so far. Thread: any. */
void
service_count(const struct service *service,
              uint64_t *out_n_members,
              uint64_t *out_n_joins);

/* In Prometheus' text format. Thread: any. */
void
service_write_metrics(struct service *service, FILE *out);

#endif
