/* core/member.h - one worker's membership of a world, from its join to its
 * end */

#ifndef CORE_MEMBER_H
#define CORE_MEMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uthash.h>

#include "base/limits.h"
#include "core/cluster.h"
#include "core/group_slot.h"
#include "core/roster_text.h"
#include "core/waiter.h"

struct job;
struct waiter;
struct worker;

/* What workers request of their world. All workers of a job must agree. */
enum member_requested_value {
    MEMBER_REQUEST_SIZE,
    MEMBER_REQUEST_SIZE_MIN,
    MEMBER_REQUEST_SETTLE,
    MEMBER_N_REQUESTS,
};

struct member {
    struct job *job;
    enum cluster_member_state state; /* changed only by member_set_state() */
    uint64_t incarnation;
    uint32_t rank;     /* the requested rank until the world forms */
    uint32_t rank_min; /* as in the join */
    uint32_t pid;
    uint64_t pid_namespace_id; /* identifies the PID namespace of pid; 0: not
                               known */
    uint64_t client;           /* the connection of its join, or of its last
                               renewal */
    uint32_t requested_sizes[MEMBER_N_REQUESTS]; /* 0: not requested */
    struct waiter *waiter;                       /* joining: the parked join */
    struct timer_entry lease;                    /* runs while the member is
                                                    active */
    uint64_t renewed_ns;
    bool is_newcomer;    /* in a world by which a job grows: not a member of
                          that job */
    bool is_asked_for;   /* its lease has expired, and other ranks are asked
                          whether they hear it */
    bool is_unconfirmed; /* no sign of life since the coordinator recovered */
    uint8_t n_parts; /* parts of the grace period without a sign of life, over
                    all recoveries; see membership.h */
    const char *host;
    const char *host_id;
    const char *address;
    char *reason;                   /* lost: the reason; owned */
    bool has_given_up;              /* lost: the member reported its own
                                       failure */
    uint64_t lost_revision;         /* lost: revision of that change; 0: not
                                       lost */
    struct group_slot_list pending; /* slots of groups that have not formed,
                                       oldest first */
    struct group_slot_list slots;   /* slots of groups that have formed */
    TAILQ_ENTRY(member) arrival;
    struct worker *worker; /* whose membership it is */
    LIST_ENTRY(member) membership;
    UT_hash_handle hh;      /* by incarnation */
    UT_hash_handle hh_rank; /* joining with a request: by rank */
    char texts[];
};

TAILQ_HEAD(member_list, member);

struct member_label {
    char text[LIMIT_NAME + 64];
};

/* Create a member from a join that has been checked. The caller destroys it. */
struct member *
member_create(struct job *job, const struct cluster_join *join);

/* NULL is allowed. */
void
member_destroy(struct member *member);

/* Change the state. Asserts that the transition is allowed. */
void
member_set_state(struct member *member, enum cluster_member_state state);

/* Return "rank 3 (host:pid)", or "host:pid" if the member has no rank yet. */
struct member_label
member_label(const struct member *member);

/* Say how the member ended: "is lost: killed" or "has left the job". */
struct text_buffer
member_end_text(const struct member *member);

/* Return the status of requests that fail because the member has ended. */
enum hoop_status
member_end_status(const struct member *member);

/* Raise HOOP_E_EXISTS: holder has the rank that another worker requests. */
enum hoop_status
member_raise_rank_taken(const struct member *holder);

/* Raise HOOP_E_ABORTED: member has left or is lost, but joins again. */
enum hoop_status
member_raise_ended(const struct member *member);

/* Return the member as operators see it; points into member. */
struct cluster_member
member_public_view(const struct member *member, uint64_t now_ns);

/*
 * In a job that has grown, a worker is a member of the first world and of
 * others. Notices and counters are about workers: a worker joins once,
 * leaves when it is in no world any more, and is lost in all of its worlds
 * at once.
 */

struct job;
struct member;

LIST_HEAD(worker_memberships, member);

struct worker {
    uint64_t id;       /* incarnation of its first membership */
    struct job *root;  /* the job whose account is charged for it */
    uint32_t n_living; /* memberships that are joining or active */
    enum cluster_member_state
        end_state; /* end state of the last active membership that ended;
                      JOINING: none has ended */
    struct worker_memberships memberships; /* newest first */
    UT_hash_handle hh;                     /* in root->workers, by id */
};

/* Add a new member to the worker with this id, which is created if needed. The
 * worker lives while one of its members is joining or active. */
void
worker_add_member(struct cluster *cluster, struct member *member, uint64_t id);

/* Called when member is no longer alive: its state is how it ended, or still
 * JOINING if it withdraws. Returns true if the worker has no living membership
 * left. */
bool
worker_end_member(struct cluster *cluster, struct member *member);

/* Return its newest membership that is joining or active, or NULL. */
struct member *
worker_newest_living(const struct worker *worker);

/* Return its newest active membership, or NULL. */
const struct member *
worker_newest_active(const struct worker *worker);

#endif
