/* core/member.h - one worker of a job, from its join to its end */

#ifndef CORE_MEMBER_H
#define CORE_MEMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uthash.h>

#include "base/limits.h"
#include "core/cluster.h"
#include "core/group_slot.h"
#include "core/text_buffer.h"
#include "core/timer_heap.h"

struct job;
struct waiter;
struct worker;

/* What workers of one job say about their world, and must agree on. */
enum member_requested_value {
    MEMBER_REQUEST_SIZE,
    MEMBER_REQUEST_SIZE_MIN,
    MEMBER_REQUEST_SETTLE,
    MEMBER_N_REQUESTS,
};

struct member {
    struct job *job;
    enum cluster_member_state state; /* changed by member_move() only */
    uint64_t incarnation;
    uint32_t rank;     /* as requested until the world forms */
    uint32_t rank_min; /* as requested */
    uint32_t pid;
    uint64_t process_space; /* where pid is its number; 0: not known */
    uint64_t client;        /* the connection of its join, or last renewal */
    uint32_t requested_sizes[MEMBER_N_REQUESTS]; /* 0: not said */
    struct waiter *waiter;                       /* joining: its parked join */
    struct timer_entry lease;                    /* active */
    uint64_t renewed_ns;
    bool is_newcomer;  /* of a world that its job grows by: not from another */
    bool is_asked_for; /* its lease has expired: who hears it? */
    bool is_unconfirmed; /* no sign of it since the coordinator came back ... */
    uint8_t
        n_parts; /* ... nor for so many parts of a grace, see lease_check.h */
    const char *host;
    const char *host_id;
    const char *address;
    char *reason;                   /* lost: why; owned */
    bool has_given_up;              /* ... as it has said itself */
    uint64_t lost_revision;         /* ... of that change; 0: it is not */
    struct group_slot_list pending; /* of groups that have not formed, by age */
    struct group_slot_list slots;   /* of those that have */
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

/* join has been checked. The caller destroys it. */
struct member *
member_create(struct job *job, const struct cluster_join *join);

/* NULL is fine. */
void
member_destroy(struct member *member);

/* Asserts that the way leads there. */
void
member_move(struct member *member, enum cluster_member_state state);

/* "rank 3 (host:pid)", or "host:pid" if it has none yet. */
struct member_label
member_label(const struct member *member);

/* It has ended: "is lost: killed", or "has left the job". */
struct text_buffer
member_end_text(const struct member *member);

/* What needs it fails with this. */
enum hoop_status
member_end_status(const struct member *member);

/* It has the rank that somebody else requests: HOOP_E_EXISTS, with the text. */
enum hoop_status
member_raise_taken(const struct member *holder);

/* It has left, or is lost, and asks again: HOOP_E_ABORTED, with the text. */
enum hoop_status
member_raise_ended(const struct member *member);

/* As operators see it; points into member. */
struct cluster_member
member_view(const struct member *member, uint64_t now_ns);

#endif
