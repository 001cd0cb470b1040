/* service/metrics.c - the coordinator's counters in Prometheus' text format */

#include "service/metrics.h"

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

enum {
    METRICS_N_STATUSES = HOOP_E_UNAUTHENTICATED + 1,
};

/* Upper bounds from 10 us to 1 s in decades; the last bucket has none. */
static const uint64_t latency_bucket_edges_ns[] = {
    10000, 100000, 1000000, 10000000, 100000000, 1000000000,
};

enum {
    LATENCY_N_BUCKETS = COUNT_OF(latency_bucket_edges_ns) + 1,
};

struct metrics {
    pthread_mutex_t lock;
    double start_time_s; /* Unix time */
    struct cluster_counters cluster;
    struct rpc_server_counters server;
    uint64_t disk; /* enum metrics_disk_state */
    uint64_t replies[METHOD_COUNT][METRICS_N_STATUSES];
    uint64_t buckets[LATENCY_N_BUCKETS];
    uint64_t taken_ns;
};

struct metric_definition {
    size_t offset; /* of a uint64_t in struct metrics */
    const char *name;
    const char *type;
    const char *help;
};

static const struct metric_definition metric_definitions[] = {
    {offsetof(struct metrics, cluster.joins), "hoop_joins_total", "counter",
     "Requests to join."},
    {offsetof(struct metrics, cluster.joins_refused),
     "hoop_joins_refused_total", "counter", "Joins refused, with the reason."},
    {offsetof(struct metrics, cluster.tokens_refused),
     "hoop_tokens_refused_total", "counter", "Requests with a wrong token."},
    {offsetof(struct metrics, cluster.worlds_formed),
     "hoop_worlds_formed_total", "counter", "Worlds that formed."},
    {offsetof(struct metrics, cluster.worlds_failed),
     "hoop_worlds_failed_total", "counter",
     "Worlds that did not form in time."},
    {offsetof(struct metrics, cluster.renewals), "hoop_renewals_total",
     "counter", "Leases renewed."},
    {offsetof(struct metrics, cluster.leaves), "hoop_leaves_total", "counter",
     "Members that left in good order."},
    {offsetof(struct metrics, cluster.leases_expired),
     "hoop_leases_expired_total", "counter", "Leases that ran out."},
    {offsetof(struct metrics, cluster.reports), "hoop_reports_total", "counter",
     "Reports of one member about another."},
    {offsetof(struct metrics, cluster.verdicts), "hoop_verdicts_total",
     "counter", "Members declared lost."},
    {offsetof(struct metrics, cluster.store_reads), "hoop_store_reads_total",
     "counter", "Reads of the store."},
    {offsetof(struct metrics, cluster.store_writes), "hoop_store_writes_total",
     "counter", "Writes to the store."},
    {offsetof(struct metrics, cluster.keys_expired),
     "hoop_store_keys_expired_total", "counter",
     "Keys whose time to live ran out."},
    {offsetof(struct metrics, cluster.replies_parked),
     "hoop_replies_parked_total", "counter", "Replies that had to wait."},
    {offsetof(struct metrics, cluster.replies_expired),
     "hoop_replies_expired_total", "counter",
     "Parked replies that came at their deadline."},
    {offsetof(struct metrics, cluster.replies_dropped),
     "hoop_replies_dropped_total", "counter",
     "Parked replies whose client no longer waited."},
    {offsetof(struct metrics, server.requests), "hoop_rpc_received_total",
     "counter", "Requests received, of all kinds."},
    {offsetof(struct metrics, server.requests_malformed),
     "hoop_rpc_malformed_total", "counter", "Messages that are no request."},
    {offsetof(struct metrics, server.requests_expired),
     "hoop_rpc_expired_total", "counter",
     "Requests that came after their deadline."},
    {offsetof(struct metrics, server.requests_repeated),
     "hoop_rpc_repeated_total", "counter",
     "Requests sent again, answered without being applied again."},
    {offsetof(struct metrics, server.requests_refused),
     "hoop_rpc_refused_total", "counter",
     "Requests refused for want of room or while draining."},
    {offsetof(struct metrics, cluster.jobs), "hoop_jobs", "gauge",
     "Jobs that live."},
    {offsetof(struct metrics, cluster.members), "hoop_members", "gauge",
     "Members, joining or active."},
    {offsetof(struct metrics, cluster.waiters), "hoop_requests_parked", "gauge",
     "Requests that wait for something to happen."},
    {offsetof(struct metrics, cluster.keys), "hoop_store_keys", "gauge",
     "Keys in all stores."},
    {offsetof(struct metrics, cluster.store_bytes), "hoop_store_bytes", "gauge",
     "Bytes of keys and values in all stores."},
    {offsetof(struct metrics, cluster.job_bytes), "hoop_job_bytes", "gauge",
     "Bytes allocated for members, groups and parked requests of all jobs."},
    {offsetof(struct metrics, server.connections_closed),
     "hoop_rpc_strangers_closed_total", "counter",
     "Connections closed that showed no token in time, or were too many."},
    {offsetof(struct metrics, disk), "hoop_data_writable", "gauge",
     "1, or 0 while the disk takes no data."},
    {offsetof(struct metrics, server.connections), "hoop_rpc_connections",
     "gauge", "Connections of clients."},
    {offsetof(struct metrics, server.held_bytes), "hoop_rpc_held_bytes",
     "gauge", "Bytes held for clients: input, parked requests, replies."},
    {offsetof(struct metrics, server.kept_bytes), "hoop_rpc_kept_bytes",
     "gauge", "Bytes of replies kept in case that their calls are repeated."},
};

enum hoop_status
metrics_create(struct metrics **out_metrics)
{
    struct metrics *metrics = calloc(1, sizeof(*metrics));
    struct timespec now;

    if (!metrics)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for metrics");
    pthread_mutex_init(&metrics->lock, NULL);
    metrics->disk = METRICS_DISK_WRITABLE;
    clock_gettime(CLOCK_REALTIME, &now);
    metrics->start_time_s = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    *out_metrics = metrics;
    return HOOP_OK;
}

void
metrics_destroy(struct metrics *metrics)
{
    if (!metrics)
        return;
    pthread_mutex_destroy(&metrics->lock);
    free(metrics);
}

void
metrics_count_reply(struct metrics *metrics,
                    enum method_id method,
                    enum hoop_status status)
{
    assert((size_t)method < METHOD_COUNT);
    assert((size_t)status < METRICS_N_STATUSES);

    pthread_mutex_lock(&metrics->lock);
    metrics->replies[method][status]++;
    pthread_mutex_unlock(&metrics->lock);
}

void
metrics_record_latency(struct metrics *metrics, uint64_t taken_ns)
{
    size_t bucket = 0;

    while (bucket < COUNT_OF(latency_bucket_edges_ns) &&
           taken_ns > latency_bucket_edges_ns[bucket])
        bucket++;
    pthread_mutex_lock(&metrics->lock);
    metrics->buckets[bucket]++;
    metrics->taken_ns += taken_ns;
    pthread_mutex_unlock(&metrics->lock);
}

void
metrics_set_counters(struct metrics *metrics,
                     const struct cluster_counters *cluster,
                     const struct rpc_server_counters *server)
{
    pthread_mutex_lock(&metrics->lock);
    metrics->cluster = *cluster;
    metrics->server = *server;
    pthread_mutex_unlock(&metrics->lock);
}

void
metrics_set_disk_state(struct metrics *metrics, enum metrics_disk_state disk)
{
    pthread_mutex_lock(&metrics->lock);
    metrics->disk = disk;
    pthread_mutex_unlock(&metrics->lock);
}

static void
metric_header_write(FILE *out,
                    const char *name,
                    const char *type,
                    const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void
metric_counters_write(const struct metrics *metrics, FILE *out)
{
    for (size_t i = 0; i < COUNT_OF(metric_definitions); i++) {
        const struct metric_definition *row = &metric_definitions[i];
        const uint64_t *value =
            (const void *)((const char *)metrics + row->offset);

        metric_header_write(out, row->name, row->type, row->help);
        fprintf(out, "%s %llu\n", row->name, (unsigned long long)*value);
    }
}

static void
reply_counts_write(const struct metrics *metrics, FILE *out)
{
    metric_header_write(out, "hoop_rpc_requests_total", "counter",
                        "Requests answered, by method and status.");
    for (size_t i = 0; i < METHOD_COUNT; i++) {
        for (size_t j = 0; j < METRICS_N_STATUSES; j++) {
            if (metrics->replies[i][j] == 0)
                continue;
            fprintf(
                out,
                "hoop_rpc_requests_total{method=\"%s\",status=\"%s\"} %llu\n",
                method_by_id((enum method_id)i)->name,
                status_name((enum hoop_status)j),
                (unsigned long long)metrics->replies[i][j]);
        }
    }
}

static void
latency_histogram_write(const struct metrics *metrics, FILE *out)
{
    uint64_t n_times = 0;

    metric_header_write(out, "hoop_rpc_seconds", "histogram",
                        "Time to answer a request that did not have to wait.");
    for (size_t i = 0; i < COUNT_OF(latency_bucket_edges_ns); i++) {
        n_times += metrics->buckets[i];
        fprintf(out, "hoop_rpc_seconds_bucket{le=\"%g\"} %llu\n",
                (double)latency_bucket_edges_ns[i] * 1e-9,
                (unsigned long long)n_times);
    }
    n_times += metrics->buckets[COUNT_OF(latency_bucket_edges_ns)];
    fprintf(out, "hoop_rpc_seconds_bucket{le=\"+Inf\"} %llu\n",
            (unsigned long long)n_times);
    fprintf(out, "hoop_rpc_seconds_sum %.9f\nhoop_rpc_seconds_count %llu\n",
            (double)metrics->taken_ns * 1e-9, (unsigned long long)n_times);
}

void
metrics_write(struct metrics *metrics, FILE *out)
{
    /* Write from a copy, so that no lock is held while a slow stream is
     * written. */
    CLEANUP(free) struct metrics *copy = malloc(sizeof(*copy));
    if (!copy)
        return;
    pthread_mutex_lock(&metrics->lock);
    *copy = *metrics;
    pthread_mutex_unlock(&metrics->lock);

    metric_header_write(out, "process_start_time_seconds", "gauge",
                        "Start of the coordinator, in Unix time.");
    fprintf(out, "process_start_time_seconds %.3f\n", copy->start_time_s);
    metric_counters_write(copy, out);
    reply_counts_write(copy, out);
    latency_histogram_write(copy, out);
}
