/*
 * core/cluster.h - the coordinator as a function of its events
 *
 * No sockets, clocks, threads, logging or randomness: the service turns what
 * comes from outside into events (core/event.h), calls cluster_step() and
 * does what the actions say (core/action.h). Time is what the events say.
 *
 * Every request is answered exactly once, in the step of its event or, when
 * it is parked, in a later one, at its deadline at the latest, unless it is
 * cancelled or its client disconnects. The service makes that hold in real
 * time by a CLUSTER_TICK whenever cluster_next_deadline_ns() has come.
 *
 * A job begins with its first join and ends when its last member has left or
 * is lost, or when its world does not form: at a join deadline that passes, those
 * whose deadline it is are answered with a text that names what is missing; the
 * others wait until their own. When nobody waits any more the name is free:
 * whoever comes later begins anew and is told of the failed attempt should it
 * wait in vain as well.
 *
 * A cluster that keeps records (core/journal.h) is made again from them: by
 * cluster_create(), cluster_recover() for each in the order of their keys, and
 * cluster_recovery_finish().
 */

#ifndef CORE_CLUSTER_H
#define CORE_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "core/action.h"
#include "core/event.h"

struct cluster;

/* Borrowed for the call; zero or NULL means the default. */
struct cluster_options {
    const char *token;   /* of every job; NULL: a job's first join sets it */
    uint32_t world_size; /* for jobs whose workers do not say; 0: none */
    uint32_t size_min;   /* likewise; 0: exactly world_size */
    uint32_t settle_ms;  /* likewise, 1 s */
    uint32_t lease_ms;   /* 10 s */
    bool keeps_records;  /* give out what must outlive this process */
    uint64_t now_ns;     /* for what is revived */
    uint64_t wall_offset_ns; /* the wall clock's time minus now_ns, modulo
                                2^64: records have its times */
};

/* Since the start, except for the gauges at the end. */
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
    uint64_t verdicts; /* members lost, by lease or by report */
    uint64_t store_reads;
    uint64_t store_writes;
    uint64_t keys_expired;
    uint64_t replies;
    uint64_t replies_parked;  /* of all replies, those that had to wait */
    uint64_t replies_expired; /* parked ones answered by their deadline */
    uint64_t replies_dropped; /* cancelled or disconnected */

    uint64_t jobs;
    uint64_t members; /* joining or active */
    uint64_t waiters; /* parked requests */
    uint64_t keys;
    uint64_t store_bytes;
    uint64_t job_bytes; /* allocated for jobs, see core/memory.h */
};

/*
 * Handle: HOOP_E_INVALID (options that contradict each other).
 * Thread: all functions of one cluster: one at a time.
 */
enum hoop_status
cluster_create(const struct cluster_options *options,
               struct cluster **out_cluster);

/*
 * A record that was put and not erased; its kind is not looked at.
 * Handle: HOOP_E_DATA_LOSS (the text says what is wrong with it),
 * HOOP_E_PRECONDITION (of another version of the coordinator). There is no way
 * on from either but cluster_destroy().
 */
enum hoop_status
cluster_recover(struct cluster *cluster, const struct cluster_record *record);

/*
 * That was all. Leases begin anew, with time for members to find the way back.
 * Handle: HOOP_E_DATA_LOSS (something is missing).
 */
enum hoop_status
cluster_recovery_finish(struct cluster *cluster);

/* What is parked is not answered: drain first. NULL is fine. */
void
cluster_destroy(struct cluster *cluster);

/* Whether a request of that job would be believed: its token does for role. One
 * of a job that has none yet is not. */
bool
cluster_accepts_token(struct cluster *cluster,
                      const char *job,
                      const char *token,
                      enum role role);

/* The actions are borrowed until the next step or the end of the cluster. */
struct cluster_actions
cluster_step(struct cluster *cluster, const struct cluster_event *event);

/* When to step with CLUSTER_TICK at the latest; UINT64_MAX: no need. */
uint64_t
cluster_next_deadline_ns(const struct cluster *cluster);

/* Borrowed, current, lives as long as the cluster. */
const struct cluster_counters *
cluster_counters(const struct cluster *cluster);

#endif
