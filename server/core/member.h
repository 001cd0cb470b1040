/* core/member.h - one worker's membership of a world, from its join to its
 * end */

#ifndef CORE_MEMBER_H
#define CORE_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uthash.h>

#include "base/limits.h"
#include "core/cluster.h"
#include "core/group_slot.h"
#include "core/status_query.h"

/*
 * Its deadline is on the timer heap. A waiter ends with its answer, or
 * without one when its ticket is cancelled or its client disconnects.
 */

/*
 * A binary heap of entries that are embedded in the objects they belong to.
 * Each renewal moves a lease, so an entry knows its place in the heap.
 */

enum timer_kind {
    TIMER_WAITER,         /* the deadline of a parked request */
    TIMER_LEASE,          /* the lease of a member ends */
    TIMER_SETTLE,         /* no worker has come for the settle time: form a
                          smaller world */
    TIMER_KEY_EXPIRY,     /* a key expires */
    TIMER_RECOVERY_GRACE, /* no worker has come back to a recovered job */
    TIMER_LEASE_CHECK, /* look which members have come back after a recovery */
    TIMER_SUSPICION,   /* decide or close a question to the members */
};

/* A zeroed entry is in no heap. */
struct timer_entry {
    enum timer_kind kind;
    uint64_t deadline_ns;
    size_t place; /* index in the heap, from 1; 0: in no heap */
};

/* A zeroed heap is empty. */
struct timer_heap {
    struct timer_entry **heap; /* [1 .. n_entries] */
    size_t n_entries;
    size_t n_room;
};

void
timer_heap_deinit(struct timer_heap *timer_heap);

/* Insert the entry or move it to a new deadline; UINT64_MAX removes it. The
 * heap borrows the entry until it is removed. */
void
timer_heap_set(struct timer_heap *timer_heap,
               struct timer_entry *entry,
               uint64_t deadline_ns);

/* Remove the entry; no effect if it is in no heap. */
void
timer_heap_remove(struct timer_heap *timer_heap, struct timer_entry *entry);

/* Return the entry with the earliest deadline, or NULL. */
struct timer_entry *
timer_heap_first(const struct timer_heap *timer_heap);

struct voter;
struct job;
struct member;
struct group_slot;
struct recording_query;

enum waiter_kind {
    WAITER_JOIN,             /* until the world forms */
    WAITER_MEMBERSHIP_WATCH, /* until the membership changes */
    WAITER_KEYS_EXIST,       /* until all keys exist */
    WAITER_KEY_WATCH,        /* until a key changes */
    WAITER_GROUP_SLOT,       /* until all members have joined a group */
    WAITER_VOTE,             /* until all surviving members have called */
    WAITER_ACTIVITY,  /* until all members have said which call they are in */
    WAITER_RECORDING, /* until a member has passed a recording on */
};

struct waiter {
    enum waiter_kind kind;
    uint64_t ticket;
    uint64_t client;
    enum role role; /* role of the request's token */
    struct job *job;
    struct timer_entry timer;
    uint64_t parked_ns;
    struct member *member;             /* for JOIN */
    struct group_slot *group_slot;     /* for GROUP_SLOT */
    struct voter *voter;               /* for VOTE */
    struct recording_query *recording; /* for RECORDING */
    struct cluster_change_watch seen;  /* WATCH: what the watcher has seen */
    uint64_t since;               /* WATCH, KEY_WATCH: all changes up to this
                                 revision were seen */
    bool asks_why;                /* ACTIVITY: the request is WHY, not JOB */
    enum cluster_key_match match; /* KEY_WATCH */
    size_t missing;               /* KEYS: index of a key that does not exist */
    size_t n_keys;                /* KEYS: number of keys; KEY_WATCH: 1, the
                                 prefix */
    size_t n_bytes;               /* bytes of all keys */
    TAILQ_ENTRY(waiter) link;     /* in the job's list, oldest first */
    struct waiter *next;          /* the list of all waiters of one client */
    struct waiter *previous;
    UT_hash_handle hh_client; /* by client; only the first waiter of a client
                                 is in this hash */
    UT_hash_handle hh;        /* by ticket */
    const char *keys[];       /* [n_keys]; their texts follow the array */
};

TAILQ_HEAD(waiter_list, waiter);

struct cluster;

/* Park the request in event. Handle: HOOP_E_EXHAUSTED, HOOP_E_UNAVAILABLE
 * (draining). */
enum hoop_status
waiter_park(struct cluster *cluster,
            struct job *job,
            const struct cluster_event *event,
            struct waiter **out_waiter);

/* End the waiter and return its reply, HOOP_OK without a body, as from
 * action_list_add_reply(). */
struct cluster_reply *
waiter_end_with_reply(struct cluster *cluster, struct waiter *waiter);

/* End the waiter without a reply. */
void
waiter_end_without_reply(struct cluster *cluster, struct waiter *waiter);

/* Fail all parked requests of a job. */
void
waiters_fail_all(struct cluster *cluster,
                 struct job *job,
                 enum hoop_status status,
                 const char *format,
                 ...) __attribute__((format(printf, 4, 5)));

/* Return the first waiter of client, or NULL. The others follow by its next
 * pointer. */
struct waiter *
waiters_of_client(const struct cluster *cluster, uint64_t client);

/* Return the waiter with this ticket, or NULL. */
struct waiter *
waiter_find(struct cluster *cluster, uint64_t ticket);

/* Return the watch parked on the connection of member's last renewal, or
 * NULL. */
struct waiter *
member_parked_watch(const struct cluster *cluster, const struct member *member);

struct job;
struct waiter;
struct worker;

/* What workers request of their world. All workers of a job must agree. */
enum member_requested_value {
    MEMBER_REQUEST_SIZE,
    MEMBER_REQUEST_SIZE_MIN,
    MEMBER_REQUEST_SETTLE_MS,
    MEMBER_N_REQUESTED_VALUES,
};

struct member {
    struct job *job;
    enum cluster_member_state state; /* changed only by member_set_state() */
    uint64_t incarnation;
    uint32_t rank;                /* the requested rank until the world forms */
    uint32_t least_accepted_rank; /* as in the join */
    uint32_t pid;
    uint64_t pid_namespace_id; /* identifies the PID namespace of pid; 0: not
                               known */
    uint64_t client;           /* the connection of its join, or of its last
                               renewal */
    uint32_t requested_sizes[MEMBER_N_REQUESTED_VALUES]; /* 0: not requested */
    struct waiter *waiter;    /* joining: the parked join */
    struct timer_entry lease; /* runs while the member is
                                                    active */
    uint64_t renewed_ns;
    bool is_newcomer;      /* in a world by which a job grows: not a member of
                          that job */
    bool is_vouch_pending; /* its lease has expired, and other ranks are asked
                          whether they hear it */
    bool
        is_unseen_since_recovery; /* no sign of life since the coordinator recovered */
    uint8_t
        n_grace_parts_passed; /* parts of the grace period without a sign of life, over
                    all recoveries; see lease_check.h */
    struct rank_totals totals;  /* the largest that it has told */
    bool is_awaited_by_metrics; /* see core/job_metrics.h */
    const char *host;
    const char *host_id;
    const char *address;
    char *reason;     /* lost: the reason; owned */
    uint8_t *failure; /* left: the details of its last call, which failed, or
                         NULL; owned */
    size_t n_failure;
    bool has_left_before_recovery;  /* how its last call ended is forgotten */
    bool has_reported_own_failure;  /* lost: the member reported its own
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

/* A text that is built from parts. One that is too long is cut and ends in
 * "...". A zeroed buffer is empty. */
struct text_buffer {
    size_t n_bytes;
    char text[LIMIT_ERROR_TEXT];
};

void
text_buffer_append(struct text_buffer *text_buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

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
    uint64_t id;                   /* incarnation of its first membership */
    struct job *root;              /* the job whose account is charged for it */
    uint32_t n_living_memberships; /* memberships that are joining or active */
    enum cluster_member_state
        last_end_state; /* end state of the last active membership that ended;
                      JOINING: none has ended */
    uint32_t metrics_host; /* index in root->metrics->hosts */
    bool is_counted;       /* there, in counted_state */
    enum cluster_member_state counted_state;
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
worker_newest_active_member(const struct worker *worker);

#endif
