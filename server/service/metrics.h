/*
 * service/metrics.h - what the coordinator counts, in Prometheus' text format
 *
 * Written by the thread of the service, read by that of the HTTP server: the
 * one object of the coordinator with a lock, which is all in here.
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
/* NULL is fine. */
void
metrics_destroy(struct metrics *metrics);

DEFINE_CLEANUP(struct metrics *, metrics_destroy)

/* A request has been answered. Thread: any. */
void
metrics_count_reply(struct metrics *metrics,
                    enum method_id method,
                    enum hoop_status status);

/* ... at once, within so much time. Thread: any. */
void
metrics_count_time(struct metrics *metrics, uint64_t taken_ns);

/* The latest figures of the core and the server, copied. Thread: any. */
void
metrics_publish(struct metrics *metrics,
                const struct cluster_counters *cluster,
                const struct rpc_server_counters *server);

enum metrics_disk {
    METRICS_DISK_TAKES_NOTHING,
    METRICS_DISK_TAKES, /* at first, and where nothing is kept */
};

/* Whether what has to be kept can be written. Thread: any. */
void
metrics_set_disk(struct metrics *metrics, enum metrics_disk disk);

/* Thread: any. */
void
metrics_write(struct metrics *metrics, FILE *out);

#endif
