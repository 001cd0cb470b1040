/*
 * core/cluster.h - the coordinator as a pure function of its events
 *
 * The core uses no sockets, clocks, threads, logging or randomness. The service
 * turns what arrives into events (core/event.h), calls cluster_step() and
 * performs the returned actions (core/action.h). Time is what the events say.
 *
 * Every request is answered exactly once: in the step of its event, or later if
 * it is parked, but at its deadline at the latest. A request that is cancelled,
 * or whose client disconnects, gets no answer. To keep the deadlines in real
 * time the service sends a CLUSTER_TICK when cluster_next_deadline_ns() has
 * come.
 *
 * A job begins with its first join. It ends when its last member has left or is
 * lost, or when its world does not form. At a join deadline, the joins with
 * that deadline fail with a text that names what is missing; the others wait
 * until their own deadline. When no worker waits any more the name is free. A
 * later join with that name starts a new job; if it fails too, its text
 * mentions the earlier attempt.
 *
 * A cluster that keeps records (core/journal.h) is restored from them: call
 * cluster_create(), then cluster_recover_record() for each record in the order
 * of the keys, then cluster_recovery_finish().
 */

#ifndef CORE_CLUSTER_H
#define CORE_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "base/role.h"
#include "core/action.h"
#include "core/event.h"

struct cluster;

/* Options of a cluster. The pointer is borrowed for the call; zero or NULL
 * means the default. */
struct cluster_options {
    const char *token;   /* the token of every job; NULL: the first join of a
                            job sets it */
    uint32_t world_size; /* for jobs whose workers request no size; 0: none */
    uint32_t size_min;   /* for jobs whose workers request no smallest size;
                            0: exactly world_size */
    uint32_t settle_ms;  /* for jobs whose workers request no settle time;
                            default 1 s */
    uint32_t lease_ms;   /* default 10 s */
    bool keeps_records;  /* produce records of what must outlive this process */
    uint64_t now_ns;     /* the time at which recovered state starts */
    uint64_t wall_offset_ns; /* wall clock minus now_ns, modulo 2^64; records
                                hold wall clock times */
};

/* Totals since the start; the last five are current values. */
struct cluster_counters {
    uint64_t joins; /* requests to join */
    uint64_t joins_refused;
    uint64_t worlds_formed;
    uint64_t worlds_failed;
    uint64_t tokens_refused;
    uint64_t renewals;
    uint64_t leaves;
    uint64_t leases_expired;
    uint64_t reports;
    uint64_t verdicts; /* members lost, by an expired lease or by a report */
    uint64_t store_reads;
    uint64_t store_writes;
    uint64_t keys_expired;
    uint64_t replies;
    uint64_t replies_parked;  /* replies to requests that had been parked */
    uint64_t replies_expired; /* parked requests answered at their deadline */
    uint64_t replies_dropped; /* parked requests that were cancelled or whose
                                 client disconnected */

    uint64_t jobs;
    uint64_t members; /* joining or active */
    uint64_t waiters; /* parked requests */
    uint64_t keys;
    uint64_t store_bytes;
    uint64_t job_bytes; /* allocated for jobs; see core/memory.h */
};

/*
 * Create a cluster.
 * Handle: HOOP_E_INVALID (options that contradict each other).
 * Thread: calls for one cluster must not overlap.
 */
enum hoop_status
cluster_create(const struct cluster_options *options,
               struct cluster **out_cluster);

/*
 * Restore one record that was put and not erased. The record's own kind is
 * ignored.
 * Handle: HOOP_E_DATA_LOSS (the record is damaged, the text says how),
 * HOOP_E_PRECONDITION (written by another version of the coordinator). After
 * either, the only valid call is cluster_destroy().
 */
enum hoop_status
cluster_recover_record(struct cluster *cluster,
                       const struct cluster_journal_record *record);

/*
 * Call after the last record. All leases start again, with extra time for
 * members to reconnect.
 * Handle: HOOP_E_DATA_LOSS (records are missing).
 */
enum hoop_status
cluster_recovery_finish(struct cluster *cluster);

/* Free the cluster. Parked requests get no answer, so send CLUSTER_DRAIN
 * before. NULL is allowed. */
void
cluster_destroy(struct cluster *cluster);

/* Return whether token would be accepted for a request that needs role in that
 * job. False if the job does not exist and no token is configured. */
bool
cluster_accepts_token(struct cluster *cluster,
                      const char *job,
                      const char *token,
                      enum role role);

/* Process one event. The actions are borrowed until the next step or the end of
 * the cluster. */
struct cluster_actions
cluster_step(struct cluster *cluster, const struct cluster_event *event);

/* Return the time of the latest next step, for a CLUSTER_TICK; UINT64_MAX: none
 * is needed. */
uint64_t
cluster_next_deadline_ns(const struct cluster *cluster);

/* Return the counters: always current, valid as long as the cluster. */
const struct cluster_counters *
cluster_counters(const struct cluster *cluster);

/* Return what the ranks of all jobs have done, by host (core/job_metrics.h).
 * The caller frees it; NULL: nothing, or no memory. */
struct job_metrics_row *
cluster_job_metrics(const struct cluster *cluster,
                    uint64_t now_ns,
                    size_t *out_n_rows);

#endif
