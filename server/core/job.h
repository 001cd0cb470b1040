/*
 * core/job.h - a named set of workers with their world, groups and store
 *
 * A job lives from its first join until it and the worlds it grew by have no
 * members. Changes of a step are settled at its end: watches are answered, and
 * an empty job is retired, which frees its name.
 */

#ifndef CORE_JOB_H
#define CORE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uthash.h>

#include "base/limits.h"
#include "base/role.h"
#include "core/action.h"
#include "core/change.h"
#include "core/cluster.h"
#include "core/event.h"
#include "core/forming.h"
#include "core/group.h"
#include "core/job_metrics.h"
#include "core/member.h"
#include "core/membership.h"
#include "core/memory.h"
#include "core/recording_query.h"
#include "core/recovery_lease_check.h"
#include "core/status_query.h"
#include "core/store.h"
#include "core/suspicion.h"
#include "core/vote.h"

struct job;
struct waiter;

STAILQ_HEAD(job_list, job);

struct cluster {
    uint64_t now_ns;
    uint64_t last_epoch; /* the last epoch given to a world or a membership */
    bool is_draining;
    enum role role; /* role of the token of this step's event; ROLE_ANYBODY:
                       no valid token */
    bool has_token; /* one token is configured for every job */
    struct token token;
    uint32_t world_size; /* these four are the options, with defaults filled
                            in */
    uint32_t size_min;
    uint32_t settle_ms;
    uint32_t lease_ms;
    bool keeps_records;
    uint64_t wall_offset_ns;       /* wall clock minus now_ns */
    uint64_t last_job_number;      /* the last number given to a job */
    uint64_t last_suspicion_query; /* the last number given to a question */
    uint64_t
        last_activity_query; /* the last number given to an activity query */
    uint64_t last_recording_query; /* the last number given to one */
    struct job *recovering; /* the job whose records are being read, or NULL */

    struct memory_account memory; /* the account of all jobs */
    struct job *jobs;             /* hash by name, in the order of creation */
    struct waiter *waiters;       /* hash by ticket */
    struct waiter *clients;       /* hash by client: the first waiter of each
                                     client */
    size_t n_non_worker_waiters;  /* waiters whose token was not a worker's */
    struct timer_heap timer_heap;
    struct job_list touched; /* jobs to be settled at the end of the step */
    struct job_list retired; /* jobs to be freed in the next step, since
                                actions point into them */
    struct group_list retired_groups; /* groups to be freed in the next step,
                                         for the same reason */
    struct ended_jobs ended_jobs;
    struct job_metrics_table job_metrics;
    struct action_list action_list;
    struct cluster_counters counters;
};

LIST_HEAD(job_worlds, job);

enum {
    JOB_REFUSED_WORKERS_MAX =
        64, /* how many refused workers are remembered, so that
                         each is logged once */
};

/* A worker that was refused, will try again and has been logged. */
struct refused_worker {
    uint64_t incarnation; /* 0: the entry is free */
    uint64_t when_ns;     /* its last attempt */
};

/* A requested value and the worker that requested it. Zeroed: not requested. */
struct requested_size {
    uint32_t value;
    struct member_label source;
};

/* What has come of joins, until the world has formed. */
struct job_joins {
    struct member *requests; /* hash by requested rank */
    struct requested_size sizes[MEMBER_N_REQUESTED_VALUES];
    uint32_t n_newcomers; /* joining workers that are not members of root; 0
                             without a root */
    uint32_t
        n_timed_out; /* joins whose deadline passed before a world formed */
    /* The failure text shared by joins that expire together, until another
     * worker joins; owned, or NULL. */
    char *timeout_text;
    uint64_t last_timeout_ns;
    struct timer_entry settle;
    uint64_t last_ns; /* time of the last join */
    struct refused_worker refused[JOB_REFUSED_WORKERS_MAX];
};

/* Set once the world has formed. */
struct job_world {
    uint64_t epoch;
    uint64_t membership_epoch; /* raised by every change */
    uint32_t size;
    uint32_t size_max; /* the largest size that was requested before the world
                          formed */
    uint64_t seed;
    struct member **ranks; /* [size] */
    struct cluster_member *roster;
    /* [1 + size]: the world forms, and each member ends once. */
    struct cluster_membership_change *changes;
    size_t n_changes;
    size_t n_changes_answered; /* changes that parked watches have been told */
    /* The newest world by which the job grew that has ended; its members are
     * owned. Forgotten when the coordinator restarts. */
    struct ended_job last_grown;
};

struct job {
    char name[LIMIT_NAME];
    uint64_t number;         /* never given twice */
    struct job *root;        /* the job that grows by this one, or NULL */
    struct job_worlds grown; /* the worlds this job grew by, newest first */
    uint32_t n_grown;
    LIST_ENTRY(job) grown_link;
    struct worker *workers;  /* jobs without a root: hash by id, workers of
                                all worlds of the job */
    uint32_t n_workers;      /* workers that join or are active */
    uint32_t n_workers_left; /* workers that have ended since the job began */
    uint32_t n_workers_lost;
    struct job_metrics *metrics; /* jobs without a root: what its ranks have
                                    done; NULL: none has come */
    struct token token;
    enum cluster_job_state state; /* changed only by job_set_state() */
    uint64_t job_created_ns;
    /* The account of everything below except the store's entries. */
    struct memory_account memory;
    size_t n_table_bytes; /* the part of memory that hash tables take */

    struct member *members;      /* hash by incarnation */
    struct member_list arrivals; /* all members, in the order of their joins */
    uint32_t n_members;          /* joining or active */
    uint32_t n_left;
    uint32_t n_lost;
    struct timer_entry grace; /* recovered, and no worker has joined again
                                 yet */
    struct lease_check lease_check;
    struct job_joins joins;
    struct job_world world;

    struct suspicion suspicion;
    struct activities activities;

    struct recording_queries recording_queries;

    struct groups groups;
    struct vote *votes; /* hash by key */
    struct store store;
    struct waiter_list waiters;
    size_t n_waiters;
    size_t n_waiter_bytes;

    bool is_touched;
    STAILQ_ENTRY(job) link; /* in cluster->touched, later in cluster->retired */
    UT_hash_handle hh;      /* by name */
};

/* Return whether name consists of letters, digits and . _ : + @ / - and is not
 * too long. */
bool
job_name_is_valid(const char *name);

/* Return the job of this name, or NULL. */
struct job *
job_find(struct cluster *cluster, const char *name);

/* Create a job. The name is valid and free; the token is valid. The cluster
 * owns the job. */
struct job *
job_create(struct cluster *cluster, const char *name, const char *token);

/* Create a job by which root grows. It has root's token, and root lives at
 * least as long. The name is valid and free. The cluster owns the job. */
struct job *
job_create_grown(struct cluster *cluster, const char *name, struct job *root);

/* Make job, which has just been recovered, a world by which root grew. */
void
job_attach_to_root(struct cluster *cluster, struct job *job, struct job *root);

/* Return the member with this incarnation, or NULL. */
struct member *
job_find_member(const struct job *job, uint64_t incarnation);

/* Return the joining member that requests rank, or NULL. */
const struct member *
job_find_rank_requester(const struct job *job, uint32_t rank);

/* Return the job whose name users know: the root, or job itself. */
struct job *
job_root(struct job *job);

/* Return the name that users know. */
const char *
job_public_name(const struct job *job);

/* Return the newest world of the job that has formed and has members; job
 * itself if none of its grown worlds has. */
struct job *
job_newest_world(struct job *job);

/* Restore an empty, forming job. name and token must be as for job_create(). */
struct job *
job_recover(struct cluster *cluster,
            const char *name,
            const char *token,
            uint64_t number);

void
job_set_state(struct job *job, enum cluster_job_state state);

/* Update the charge for the job's hash tables. Call after an element was added
 * to one or removed. */
void
job_recount_table_bytes(struct job *job);

/* Settle the job at the end of this step. */
void
job_mark_touched(struct cluster *cluster, struct job *job);

/*
 * A request of one worker counts for the whole job, and no two workers may
 * contradict each other. What no worker requests is taken from the
 * coordinator's options.
 */

/* Return the largest size of the world; 0: not known. */
uint32_t
job_max_world_size(const struct cluster *cluster, const struct job *job);

/* Return the smallest size; equal to job_max_world_size() if no smaller world
 * is allowed. */
uint32_t
job_min_world_size(const struct cluster *cluster, const struct job *job);

/* Return how long no worker must have come before a smaller world forms. */
uint64_t
job_settle_time_ns(const struct cluster *cluster, const struct job *job);

/*
 * Check that a join agrees with the members that wait already.
 * Handle: HOOP_E_PRECONDITION (the text names both workers).
 */
enum hoop_status
job_check_requested_sizes(const struct cluster *cluster,
                          const struct job *job,
                          const struct cluster_join *join);

/* Take over the requests of a member that has joined. */
void
job_add_requested_sizes(struct job *job, const struct member *member);

/*
 * Drop the requests of a member that has been removed from the job. A value
 * that only this member requested is dropped too, unless the remaining members
 * would then not fit.
 */
void
job_remove_requested_sizes(const struct cluster *cluster,
                           struct job *job,
                           const struct member *gone);

/* Return how many members of the job the new world needs; 0: job is not a world
 * by which another grows. */
uint32_t
job_growth_needed_members(const struct job *job);

/* Return whether all of the needed members wait. */
bool
job_growth_has_all_members(const struct job *job);

/* Find a member of the world that has formed, in any state. id is checked.
 * Handle: HOOP_E_PRECONDITION (another epoch, or not a member). */
enum hoop_status
job_find_member_by_id(struct job *job,
                      const struct cluster_member_id *id,
                      struct member **out_member);

/*
 * Find the member that makes a request, and check that it is active.
 * Handle: HOOP_E_PRECONDITION (another epoch, not a member, or has left),
 * HOOP_E_ABORTED (has been declared lost).
 */
enum hoop_status
job_find_active_member(struct job *job,
                       const struct cluster_member_id *id,
                       struct member **out_member);

/* Return the number of the open query; 0: none is open. */
uint64_t
job_pending_query_number(const struct job *job);

/* The functions that answer requests, as the list in core/event.h says. A
 * handler answers or parks the request, or fails; then the reply is made from
 * the error. job is the one that the event names, or NULL where the scope of
 * the request allows it. */
typedef enum hoop_status
request_handler_fn(struct cluster *cluster,
                   struct job *job,
                   const struct cluster_event *event);

#define REQUEST_HANDLER_DECLARE(kind, handler, scope)                          \
    request_handler_fn handler;
CLUSTER_REQUEST_LIST(REQUEST_HANDLER_DECLARE)

#endif
