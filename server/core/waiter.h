/*
 * core/waiter.h - a request that is answered later
 *
 * Its deadline is on the timer heap. It ends by an answer, or without one when
 * its ticket is cancelled or its client is gone.
 */

#ifndef CORE_WAITER_H
#define CORE_WAITER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uthash.h>

#include "core/cluster.h"
#include "core/timer_heap.h"

struct voter;
struct job;
struct member;
struct group_slot;

enum waiter_kind {
    WAITER_JOIN,       /* until the world forms */
    WAITER_WATCH,      /* until the membership changes */
    WAITER_KEYS,       /* until all keys exist */
    WAITER_KEY_WATCH,  /* until a key changes */
    WAITER_GROUP_SLOT, /* until all have joined a group */
    WAITER_VOTE,       /* until all that survive have come */
    WAITER_ACTIVITY,   /* until all members have said what they are in */
};

struct waiter {
    enum waiter_kind kind;
    uint64_t ticket;
    uint64_t client;
    enum role role; /* of the token that was shown */
    struct job *job;
    struct timer_entry timer;
    uint64_t parked_ns;
    struct member *member;         /* JOIN */
    struct group_slot *group_slot; /* SEAT */
    struct voter *voter;           /* COUNCIL */
    uint64_t question;             /* WATCH: the last that was seen */
    uint64_t activity_query;       /* WATCH: likewise */
    uint64_t since;           /* WATCH, KEY_WATCH: all until here was seen */
    enum cluster_match match; /* KEY_WATCH */
    size_t missing;           /* KEYS: index of one that does not exist */
    size_t n_keys;            /* KEYS; KEY_WATCH: 1, the prefix */
    size_t n_bytes;           /* of all keys */
    TAILQ_ENTRY(waiter) link; /* of the job, the oldest first */
    struct waiter *next; /* of the same client: all of them are a list ... */
    struct waiter *previous;
    UT_hash_handle hh_client; /* ... the first of which is found by client */
    UT_hash_handle hh;        /* by ticket */
    const char *keys[];       /* [n_keys], their texts behind them */
};

TAILQ_HEAD(waiter_list, waiter);

struct cluster;

/* Handle: HOOP_E_EXHAUSTED, HOOP_E_UNAVAILABLE (draining). */
enum hoop_status
waiter_park(struct cluster *cluster,
            struct job *job,
            const struct cluster_event *event,
            struct waiter **out_waiter);

/* Ends the waiter; the reply is OK so far, as from action_list_reply(). */
struct cluster_reply *
waiter_answer(struct cluster *cluster, struct waiter *waiter);

/* Ends the waiter without an answer. */
void
waiter_drop(struct cluster *cluster, struct waiter *waiter);

/* Answer all of a job with a failure. */
void
waiters_refuse(struct cluster *cluster,
               struct job *job,
               enum hoop_status status,
               const char *format,
               ...) __attribute__((format(printf, 4, 5)));

/* The first of those that client waits for, or NULL. */
struct waiter *
waiters_of_client(const struct cluster *cluster, uint64_t client);

/* Or NULL. */
struct waiter *
waiter_find(struct cluster *cluster, uint64_t ticket);

#endif
