/* core/job_metrics.c - what the ranks of each job have done, by host */

#include "core/job_metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/escape.h"
#include "core/job.h"
#include "core/member.h"
#include "core/memory.h"

const char job_metrics_other[] = "other";

static void
job_metrics_remove(struct job_metrics_table *table, struct job_metrics *metrics)
{
    LIST_REMOVE(metrics, link);
    table->n_jobs--;
    free(metrics->hosts);
    free(metrics);
}

void
job_metrics_table_deinit(struct job_metrics_table *table)
{
    while (!LIST_EMPTY(&table->jobs))
        job_metrics_remove(table, LIST_FIRST(&table->jobs));
}

static bool
is_other(const struct job_metrics *metrics)
{
    return strcmp(metrics->job, job_metrics_other) == 0;
}

/* What is added up of other jobs stays, because they have no end in common. */
static bool
is_over(const struct job_metrics *metrics, uint64_t now_ns)
{
    return metrics->n_jobs == 0 && !is_other(metrics) &&
           now_ns - metrics->ended_ns >= JOB_METRICS_KEPT_S * CLOCK_NS_PER_S;
}

static void
job_metrics_remove_old(struct job_metrics_table *table, uint64_t now_ns)
{
    struct job_metrics *next = NULL;

    for (struct job_metrics *metrics = LIST_FIRST(&table->jobs); metrics;
         metrics = next) {
        next = LIST_NEXT(metrics, link);
        if (is_over(metrics, now_ns))
            job_metrics_remove(table, metrics);
    }
}

static struct job_metrics *
job_metrics_find(const struct job_metrics_table *table, const char *job)
{
    struct job_metrics *metrics = NULL;

    LIST_FOREACH(metrics, &table->jobs, link)
    {
        if (strcmp(metrics->job, job) == 0)
            break;
    }
    return metrics;
}

static struct job_metrics *
job_metrics_add(struct job_metrics_table *table, const char *job)
{
    struct job_metrics *metrics = memory_calloc(1, sizeof(*metrics));

    snprintf(metrics->job, sizeof(metrics->job), "%s", job);
    LIST_INSERT_HEAD(&table->jobs, metrics, link);
    table->n_jobs++;
    return metrics;
}

/* Those that left the last job of this name, or were lost, are not of the new
 * one. */
static void
ended_ranks_forget(struct job_metrics *metrics)
{
    for (size_t i = 0; i < metrics->n_hosts; i++) {
        metrics->hosts[i].n_ranks[CLUSTER_MEMBER_LEFT] = 0;
        metrics->hosts[i].n_ranks[CLUSTER_MEMBER_LOST] = 0;
    }
}

struct job_metrics *
job_metrics_begin(struct job_metrics_table *table,
                  const char *job,
                  uint64_t now_ns)
{
    struct job_metrics *metrics = NULL;

    job_metrics_remove_old(table, now_ns);
    metrics = job_metrics_find(table, job);
    if (!metrics && table->n_jobs >= JOB_METRICS_JOBS_MAX) {
        job = job_metrics_other;
        metrics = job_metrics_find(table, job);
    }
    if (!metrics)
        metrics = job_metrics_add(table, job);
    if (metrics->n_jobs == 0 && !is_other(metrics))
        ended_ranks_forget(metrics);
    metrics->n_jobs++;
    return metrics;
}

void
job_metrics_end(struct job_metrics *metrics, uint64_t now_ns)
{
    if (!metrics)
        return;
    metrics->n_jobs--;
    metrics->ended_ns = now_ns;
}

static uint32_t
host_add(struct job_metrics *metrics, const char *host)
{
    const size_t n = metrics->n_hosts++;

    metrics->hosts = memory_realloc(metrics->hosts, metrics->n_hosts,
                                    sizeof(*metrics->hosts));
    metrics->hosts[n] = (struct host_metrics){0};
    snprintf(metrics->hosts[n].host, sizeof(metrics->hosts[n].host), "%s",
             host);
    return (uint32_t)n;
}

static bool
host_find(const struct job_metrics *metrics,
          const char *host,
          uint32_t *out_index)
{
    for (size_t i = 0; i < metrics->n_hosts; i++) {
        if (strcmp(metrics->hosts[i].host, host) == 0) {
            *out_index = (uint32_t)i;
            return true;
        }
    }
    return false;
}

uint32_t
job_metrics_host(struct job_metrics *metrics, const char *host)
{
    char name[LIMIT_NAME];
    uint32_t index = 0;

    escape_text(is_other(metrics) ? job_metrics_other : host, name,
                sizeof(name));
    if (host_find(metrics, name, &index))
        return index;
    if (metrics->n_hosts < JOB_METRICS_HOSTS_MAX)
        return host_add(metrics, name);
    if (host_find(metrics, job_metrics_other, &index))
        return index;
    return host_add(metrics, job_metrics_other);
}

static struct job_metrics *
member_metrics(const struct member *member)
{
    return job_root(member->job)->metrics;
}

static struct host_metrics *
worker_host_metrics(const struct worker *worker)
{
    return &worker->root->metrics->hosts[worker->metrics_host];
}

void
job_metrics_count(struct member *member, const struct rank_totals *totals)
{
    struct rank_totals *sums = &worker_host_metrics(member->worker)->totals;
    struct rank_totals gain = rank_totals_advance(&member->totals, totals);
    const uint64_t slowest_us =
        totals->join_us > sums->join_us ? totals->join_us : sums->join_us;

    rank_totals_add(sums, &gain);
    sums->join_us = slowest_us;
    job_metrics_await_no_more(member);
}

void
job_metrics_await(struct member *member)
{
    member->is_awaited_by_metrics = true;
    member_metrics(member)->n_awaited++;
}

void
job_metrics_await_no_more(struct member *member)
{
    if (!member->is_awaited_by_metrics)
        return;
    member->is_awaited_by_metrics = false;
    member_metrics(member)->n_awaited--;
}

void
job_metrics_forget(struct worker *worker)
{
    if (!worker->is_counted)
        return;
    worker->is_counted = false;
    worker_host_metrics(worker)->n_ranks[worker->counted_state]--;
}

void
job_metrics_set_state(struct worker *worker, enum cluster_member_state state)
{
    job_metrics_forget(worker);
    worker->is_counted = true;
    worker->counted_state = state;
    worker_host_metrics(worker)->n_ranks[state]++;
}

static size_t
shown_rows_count(const struct job_metrics_table *table, uint64_t now_ns)
{
    const struct job_metrics *metrics = NULL;
    size_t n_rows = 0;

    LIST_FOREACH(metrics, &table->jobs, link)
    {
        if (!is_over(metrics, now_ns))
            n_rows += metrics->n_hosts;
    }
    return n_rows;
}

struct job_metrics_row *
job_metrics_rows(const struct job_metrics_table *table,
                 uint64_t now_ns,
                 size_t *out_n_rows)
{
    const size_t n_most = shown_rows_count(table, now_ns);
    struct job_metrics_row *rows =
        n_most > 0 ? calloc(n_most, sizeof(*rows)) : NULL;
    const struct job_metrics *metrics = NULL;
    size_t n_rows = 0;

    *out_n_rows = 0;
    if (!rows)
        return NULL;
    LIST_FOREACH(metrics, &table->jobs, link)
    {
        if (is_over(metrics, now_ns))
            continue;
        for (size_t i = 0; i < metrics->n_hosts; i++) {
            struct job_metrics_row *row = &rows[n_rows++];

            snprintf(row->job, sizeof(row->job), "%s", metrics->job);
            row->host = metrics->hosts[i];
            row->has_totals = metrics->n_awaited == 0;
        }
    }
    *out_n_rows = n_rows;
    return rows;
}
