/*
 * core/timer_heap.h - timers, ordered by deadline
 *
 * A binary heap of entries that are embedded in the objects they belong to.
 * Each renewal moves a lease, so an entry knows its place in the heap.
 */

#ifndef CORE_TIMER_HEAP_H
#define CORE_TIMER_HEAP_H

#include <stddef.h>
#include <stdint.h>

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

#endif
