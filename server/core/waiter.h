/*
 * core/waiter.h - a parked request, which is answered later
 *
 * Its deadline is on the timer heap. A waiter ends with its answer, or without
 * one when its ticket is cancelled or its client disconnects.
 */

#ifndef CORE_WAITER_H
#define CORE_WAITER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uthash.h>

#include "core/cluster.h"

/*
 * A binary heap of entries that are embedded in the objects they belong to.
 * Each renewal moves a lease, so an entry knows its place in the heap.
 */

enum timer_kind {
    TIMER_WAITER,      /* the deadline of a parked request */
    TIMER_LEASE,       /* the lease of a member ends */
    TIMER_SETTLE,      /* no worker has come for the settle time: form a
                          smaller world */
    TIMER_KEY,         /* a key expires */
    TIMER_GRACE,       /* no worker has come back to a recovered job */
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

enum waiter_kind {
    WAITER_JOIN,       /* until the world forms */
    WAITER_WATCH,      /* until the membership changes */
    WAITER_KEYS,       /* until all keys exist */
    WAITER_KEY_WATCH,  /* until a key changes */
    WAITER_GROUP_SLOT, /* until all members have joined a group */
    WAITER_VOTE,       /* until all surviving members have called */
    WAITER_ACTIVITY,   /* until all members have said which call they are in */
};

struct waiter {
    enum waiter_kind kind;
    uint64_t ticket;
    uint64_t client;
    enum role role; /* role of the request's token */
    struct job *job;
    struct timer_entry timer;
    uint64_t parked_ns;
    struct member *member;         /* for JOIN */
    struct group_slot *group_slot; /* for GROUP_SLOT */
    struct voter *voter;           /* for VOTE */
    uint64_t question;             /* WATCH: the last question that was seen */
    uint64_t activity_query;       /* WATCH: the last activity query that was
                                      seen */
    uint64_t since;                /* WATCH, KEY_WATCH: all changes up to this
                                 revision were seen */
    enum cluster_key_match match;  /* KEY_WATCH */
    size_t missing;           /* KEYS: index of a key that does not exist */
    size_t n_keys;            /* KEYS: number of keys; KEY_WATCH: 1, the
                                 prefix */
    size_t n_bytes;           /* bytes of all keys */
    TAILQ_ENTRY(waiter) link; /* in the job's list, oldest first */
    struct waiter *next;      /* the list of all waiters of one client */
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

#endif
