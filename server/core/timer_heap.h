/*
 * core/timer_heap.h - what happens by itself, the soonest first
 *
 * A binary heap of entries that are embedded in what they end: a lease is
 * moved by every renewal, so an entry knows its place.
 */

#ifndef CORE_TIMER_HEAP_H
#define CORE_TIMER_HEAP_H

#include <stddef.h>
#include <stdint.h>

enum timer_kind {
    TIMER_WAITER,      /* a parked request must be answered */
    TIMER_LEASE,       /* a member is lost */
    TIMER_SETTLE,      /* nobody new has come: form with those who are here */
    TIMER_KEY,         /* a key has lived its time */
    TIMER_GRACE,       /* nobody has come back to a job */
    TIMER_LEASE_CHECK, /* who of a job has come back? */
    TIMER_SUSPICION,   /* members were asked whom they hear */
};

/* Zeroed: in no timer heap. */
struct timer_entry {
    enum timer_kind kind;
    uint64_t deadline_ns;
    size_t place; /* in the heap, from 1; 0: in no timer heap */
};

/* Zeroed: empty. */
struct timer_heap {
    struct timer_entry **heap; /* [1 .. n_entries] */
    size_t n_entries;
    size_t n_room;
};

void
timer_heap_deinit(struct timer_heap *timer_heap);

/* Put or move it; UINT64_MAX takes it off. Borrowed until it is taken off. */
void
timer_heap_set(struct timer_heap *timer_heap,
               struct timer_entry *entry,
               uint64_t deadline_ns);

/* Nothing happens if it is in no timer heap. */
void
timer_heap_remove(struct timer_heap *timer_heap, struct timer_entry *entry);

/* The soonest, or NULL. */
struct timer_entry *
timer_heap_first(const struct timer_heap *timer_heap);

#endif
