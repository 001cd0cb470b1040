/*
 * core/job.h - a named set of workers: members, their world, groups, store
 *
 * A job lives from its first join until nobody is left in it, nor in those that
 * it grew by. What a step changed in a job is settled at the end of the step:
 * watchers are answered, an empty job is retired, which frees its name.
 */

#ifndef CORE_JOB_H
#define CORE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uthash.h>

#include "base/limits.h"
#include "core/activity.h"
#include "core/cluster.h"
#include "core/group.h"
#include "core/lease_check.h"
#include "core/member.h"
#include "core/memory.h"
#include "core/requested_size.h"
#include "core/state.h"
#include "core/store.h"
#include "core/suspicion.h"
#include "core/timer_heap.h"
#include "core/token.h"
#include "core/vote.h"
#include "core/waiter.h"
#include "core/worker.h"

LIST_HEAD(job_worlds, job);

enum {
    JOB_REFUSED = 64, /* who is refused again and again is told of once */
};

/* A worker that is to try again, of which the log has told. */
struct job_refused {
    uint64_t incarnation; /* 0: nobody */
    uint64_t when_ns;     /* the last time that it tried */
};

struct job {
    char name[LIMIT_NAME];
    uint64_t number;  /* never given twice */
    struct job *root; /* the job that grows by this one; NULL: none does */
    struct job_worlds grown; /* those it grew by, the newest first */
    uint32_t n_grown;
    LIST_ENTRY(job) grown_link;
    struct worker *workers;  /* without a root: hash by id, of all its worlds */
    uint32_t n_workers;      /* of them, those that join or are active */
    uint32_t n_workers_left; /* ... and those that have ended, in its life */
    uint32_t n_workers_lost;
    struct token token;
    enum cluster_job_state state; /* changed by job_move() only */
    uint64_t born_ns;
    /* Of all that follows but the store's entries. */
    struct memory_account memory;
    size_t n_table_bytes; /* of it, those of hash tables */

    struct member *members;      /* hash by incarnation */
    struct member *requests;     /* hash by requested rank, while forming */
    struct member_list arrivals; /* all members, in the order of their joins */
    struct requested_size requested_sizes[MEMBER_N_REQUESTS];
    uint32_t n_members; /* joining or active */
    uint32_t
        n_newcomers;     /* of those joining, if there is a root: not from it */
    uint32_t n_given_up; /* joins whose deadlines came before a world */
    char *given_up_text; /* what the first of them was told, and those who give
                            up with it are, until somebody else joins; owned, or
                            NULL */
    uint64_t given_up_ns;
    uint32_t n_left;
    uint32_t n_lost;
    struct timer_entry settle;
    struct timer_entry grace; /* revived, nobody has joined again yet */
    struct lease_check lease_check;
    uint64_t arrived_ns; /* the last join */
    struct job_refused refused[JOB_REFUSED];

    /* Since the world formed. */
    uint64_t epoch;            /* of the world */
    uint64_t membership_epoch; /* bumped by every change */
    uint32_t size;
    uint32_t size_max; /* how many it may have, as was said before it formed */
    uint64_t seed;
    struct member **ranks; /* [size] */
    struct cluster_member *roster;
    struct cluster_change *changes; /* [1 + size]: nobody ends twice */
    size_t n_changes;
    size_t n_published; /* of them, to those who wait */
    struct suspicion suspicion;
    uint64_t asked; /* the last question that those who wait were told */
    struct activities activities;
    uint64_t activity_asked; /* likewise */

    struct groups groups;
    struct vote *votes; /* hash by key */
    struct store store;
    struct waiter_list waiters;
    size_t n_waiters;
    size_t n_waiter_bytes;

    bool is_touched;
    STAILQ_ENTRY(job) link; /* of cluster->touched, then ->retired */
    UT_hash_handle hh;      /* by name */
};

/* A name may have letters, digits and . _ : + @ / - */
bool
job_name_is_valid(const char *name);

/* Or NULL. */
struct job *
job_find(struct cluster *cluster, const char *name);

/* The name is valid and free, the token fits. Owned by cluster. */
struct job *
job_create(struct cluster *cluster, const char *name, const char *token);

/* One by which root grows: of its token, and for as long as it lives root does. The
 * name is valid and free. Owned by cluster. */
struct job *
job_create_grown(struct cluster *cluster, const char *name, struct job *root);

/* job, just revived, is one by which root grew. */
void
job_attach(struct cluster *cluster, struct job *job, struct job *root);

/* Or NULL. */
struct member *
job_member(const struct job *job, uint64_t incarnation);

/* Who joins job with a request for rank, or NULL. */
const struct member *
job_requester(const struct job *job, uint32_t rank);

/* The job whose name people know: its root, or itself. */
struct job *
job_root(struct job *job);

/* As people call it. */
const char *
job_title(const struct job *job);

/* The newest of its worlds in which somebody is; it must have formed. */
struct job *
job_present(struct job *job);

/* A job that was, empty and forming. Same rules as for job_create(). */
struct job *
job_recover(struct cluster *cluster,
            const char *name,
            const char *token,
            uint64_t number);

void
job_move(struct job *job, enum cluster_job_state state);

/* Nobody has come back in time: it ends. */
void
job_expire(struct cluster *cluster, struct job *job);

/* An element has come into a hash table of the job, or has left one: the tables are
 * charged as they are now. */
void
job_count_tables(struct job *job);

/* Settle it at the end of this step. */
void
job_touch(struct cluster *cluster, struct job *job);

/* Of every touched job: answer watchers; retire it if it is empty. */
void
jobs_settle(struct cluster *cluster);

/* Free what the actions of the last step may have pointed to. */
void
jobs_forget(struct cluster *cluster);

/* Everything, at the end of the cluster. */
void
jobs_destroy(struct cluster *cluster);

/* As operators see it; points into job. */
struct cluster_job_line
job_line(const struct cluster *cluster, struct job *job);

#endif
