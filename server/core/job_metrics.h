/*
 * core/job_metrics.h - what the ranks of each job have done, by host
 *
 * The totals that ranks tell (base/rank_totals.h) are added up, so that a sum
 * never shrinks when a rank leaves, is lost, or is forgotten with its job. All
 * worlds of a job count as one job, and a worker in several of them as one
 * rank. The sums of a job are kept for some time after its end; if a job of
 * that name begins meanwhile, it goes on with them.
 *
 * The first JOB_METRICS_JOBS_MAX jobs at a time have sums of their own, and the
 * first JOB_METRICS_HOSTS_MAX hosts of each; the rest is added up as "other".
 *
 * Sums are not recorded. After a restart of the coordinator they come again
 * from the living ranks: those of a job are not shown before all of its ranks
 * have told theirs, or are lost. What the others had done is then missing.
 */

#ifndef CORE_JOB_METRICS_H
#define CORE_JOB_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/limits.h"
#include "base/rank_totals.h"
#include "core/action.h"

enum {
    JOB_METRICS_JOBS_MAX = 32,
    JOB_METRICS_HOSTS_MAX = 64, /* of each job */
    JOB_METRICS_KEPT_S = 300,   /* after the end of the job */
    JOB_METRICS_STATES = CLUSTER_MEMBER_LOST + 1,
};

/* The name of what is added up beyond these numbers. A job or host of this name
 * is part of it. */
extern const char job_metrics_other[];

struct host_metrics {
    char host[LIMIT_NAME];     /* safe to show (base/escape.h) */
    struct rank_totals totals; /* join_us: of the slowest rank */
    /* By enum cluster_member_state. Those that have left or are lost are counted
     * until another job of the name begins. */
    uint32_t n_ranks[JOB_METRICS_STATES];
};

struct job_metrics {
    LIST_ENTRY(job_metrics) link;
    char job[LIMIT_NAME];
    uint32_t n_jobs;    /* living jobs that are counted here */
    uint64_t ended_ns;  /* if there are none: since when */
    uint32_t n_awaited; /* recovered ranks that have not told their totals */
    struct host_metrics *hosts; /* [n_hosts] */
    size_t n_hosts;
};

/* Zeroed, it is empty. */
struct job_metrics_table {
    LIST_HEAD(, job_metrics) jobs; /* newest first */
    size_t n_jobs;
};

struct member;
struct job;
struct worker;

void
job_metrics_table_deinit(struct job_metrics_table *table);

/* Return the sums for a job of this name that begins. */
struct job_metrics *
job_metrics_begin(struct job_metrics_table *table,
                  const char *job,
                  uint64_t now_ns);

/* The job ends at this time. NULL is allowed. */
void
job_metrics_end(struct job_metrics *metrics, uint64_t now_ns);

/* Return the index of the sums for a host. */
uint32_t
job_metrics_host(struct job_metrics *metrics, const char *host);

/* Count the totals that member tells now. */
void
job_metrics_count(struct member *member, const struct rank_totals *totals);

/* Member has been recovered as active, and is to tell its totals. */
void
job_metrics_await(struct member *member);

/* It has told them, or has ended. */
void
job_metrics_await_no_more(struct member *member);

/* Count worker as one rank in this state, and no longer in another. */
void
job_metrics_set_state(struct worker *worker, enum cluster_member_state state);

/* Worker, which has not joined, is counted no longer. */
void
job_metrics_forget(struct worker *worker);

/* A copy of the sums of one host, for other threads. */
struct job_metrics_row {
    char job[LIMIT_NAME];
    struct host_metrics host;
    bool has_totals; /* false: not all ranks have told them since a restart */
};

/* Return the rows that are to be shown, which the caller frees; NULL: none, or
 * no memory. */
struct job_metrics_row *
job_metrics_rows(const struct job_metrics_table *table,
                 uint64_t now_ns,
                 size_t *out_n_rows);

#endif
