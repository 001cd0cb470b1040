/*
 * service/metrics.h - the coordinator's counters in Prometheus' text format
 *
 * The service's thread writes them and the HTTP server's thread reads them. A
 * lock inside protects them.
 */

#ifndef SERVICE_METRICS_H
#define SERVICE_METRICS_H

#include <stdint.h>
#include <stdio.h>

#include "hoop/status.h"

#include "base/cleanup.h"
#include "core/cluster.h"
#include "rpc/method.h"
#include "rpc/rpc_server.h"

struct metrics;

enum hoop_status
metrics_create(struct metrics **out_metrics);
/* NULL is allowed. */
void
metrics_destroy(struct metrics *metrics);

DEFINE_CLEANUP(struct metrics *, metrics_destroy)

/* Count an answered request. Thread: any. */
void
metrics_count_reply(struct metrics *metrics,
                    enum method_id method,
                    enum hoop_status status);

/* Count the time of a request that was answered without waiting. Thread:
 * any. */
void
metrics_record_latency(struct metrics *metrics, uint64_t taken_ns);

/* Copy the current counters of the core and the server. Thread: any. */
void
metrics_set_counters(struct metrics *metrics,
                     const struct cluster_counters *cluster,
                     const struct rpc_server_counters *server);

enum metrics_disk_state {
    METRICS_DISK_NOT_WRITABLE,
    METRICS_DISK_WRITABLE, /* the initial value, also if nothing is stored */
};

/* Set whether the storage can write. Thread: any. */
void
metrics_set_disk_state(struct metrics *metrics, enum metrics_disk_state disk);

/* Write all metrics to out. Thread: any. */
void
metrics_write(struct metrics *metrics, FILE *out);

#endif
