/* core/change.h - the list of membership changes of a world, and its watches */

#ifndef CORE_CHANGE_H
#define CORE_CHANGE_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "base/role.h"
#include "core/action.h"
#include "core/event.h"

struct cluster;
struct job;
struct member;
struct waiter;

/* Append the change that the world has formed. Its membership epoch becomes the
 * job's first. */
void
change_add_world_formed(struct cluster *cluster, struct job *job);

/* Append the change that member has left or is lost. */
void
change_add_member_end(struct cluster *cluster, struct member *member);

/* Answer the parked watches for which there is a new change or question. */
void
changes_answer_watches(struct cluster *cluster, struct job *job);

/* Answer a watch whose deadline has passed, usually with an empty list. */
void
change_watch_on_deadline(struct cluster *cluster, struct waiter *waiter);

/*
 * A watch that starts from a revision is answered from the history, so that
 * it sees every change once and in order, also between two polls. Only keys
 * are kept, because values may be large.
 */

struct history_record;
struct memory_account;

/* Empty if zeroed except for memory. */
struct history {
    struct memory_account *memory; /* the account that is charged */
    struct history_record *ring;   /* the change of revision r is at r modulo
                                      LIMIT_STORE_HISTORY */
    uint64_t revision;             /* the last revision */
    size_t n_key_bytes;            /* allocated for keys */
    uint64_t forgotten;            /* changes up to this revision are no
                                      longer known */
};

void
history_deinit(struct history *history);

/* Append a change and return its revision. key is copied. */
uint64_t
history_add(struct history *history,
            enum cluster_key_change_kind kind,
            const char *key);

/* Drop the oldest changes until their keys fit the limit. Call only when no
 * parked watch still needs them. */
void
history_trim(struct history *history);

/* Restore an empty history whose last revision is revision. */
void
history_recover(struct history *history, uint64_t revision);

/* Return the first revision that is still known; the next revision if none
 * is. */
uint64_t
history_first_revision(const struct history *history);

/* Return a change that is still known. Its key is borrowed until the next
 * history_add() or history_trim(). */
struct cluster_key_change
history_change_at(const struct history *history, uint64_t revision);

/*
 * A name is free again when its job has ended. A ring remembers the last
 * ended jobs: operators see them, and a late worker is told that the others
 * were here and gave up.
 */

enum {
    /* Members of an ended job that are remembered: those that were lost, in the
     * order in which they were, as the ends of all others follow from theirs,
     * and then those whose last call failed. */
    ENDED_MEMBERS_MAX = 16,
};

struct ended_member {
    uint32_t rank;
    uint32_t pid;
    char host[LIMIT_NAME];
    enum cluster_member_state state;
    uint64_t lost_revision;
    char reason[LIMIT_ERROR_TEXT]; /* why it was lost, or "" */
    /* The details of its last call, if that failed; owned. */
    uint8_t *failure;
    size_t n_failure;
};

struct ended_job {
    char name[LIMIT_NAME];
    uint64_t when_ns;
    uint64_t epoch; /* epoch of the world; 0: it never formed */
    uint32_t size;  /* size of the world; requested size if it never formed */
    uint32_t n_joined;
    uint32_t n_left;
    uint32_t n_lost;
    /* Forgotten when the coordinator restarts: */
    struct token token; /* who may read the members; zeroed with them */
    size_t n_members;
    struct ended_member *members; /* owned, or NULL */
};

/* A zeroed ring is empty. */
struct ended_jobs {
    struct ended_job ring[LIMIT_ENDED_JOBS];
    size_t n_added;
};

/* Takes the members of ended_job. */
void
ended_jobs_add(struct ended_jobs *ended_jobs,
               const struct ended_job *ended_job);

/* Free what the ring holds, and zero its tokens. */
void
ended_jobs_deinit(struct ended_jobs *ended_jobs);

/* Remember a world that ends, and its members. */
void
ended_job_take_world(struct ended_job *ended_job, const struct job *job);

/* Forget the members, and zero the rest. */
void
ended_job_deinit(struct ended_job *ended_job);

/* Return how many jobs are remembered. */
size_t
ended_jobs_count(const struct ended_jobs *ended_jobs);

/* Return a remembered job; index 0 is the one that ended last. */
const struct ended_job *
ended_jobs_at(const struct ended_jobs *ended_jobs, size_t index);

/* Return the job of this name that ended last, or NULL. */
const struct ended_job *
ended_jobs_find(const struct ended_jobs *ended_jobs, const char *name);

#endif
