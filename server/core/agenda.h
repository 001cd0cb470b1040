/*
 * core/agenda.h - what happens by itself, the soonest first
 *
 * A binary heap of entries that are embedded in what they end: a lease is
 * moved by every renewal, so an entry knows its place.
 */

#ifndef CORE_AGENDA_H
#define CORE_AGENDA_H

#include <stddef.h>
#include <stdint.h>

enum agenda_kind {
    AGENDA_WAITER,    /* a parked request must be answered */
    AGENDA_LEASE,     /* a member is lost */
    AGENDA_SETTLE,    /* nobody new has come: form with those who are here */
    AGENDA_KEY,       /* a key has lived its time */
    AGENDA_GRACE,     /* nobody has come back to a job */
    AGENDA_MUSTER,    /* who of a job has come back? */
    AGENDA_SUSPICION, /* members were asked whom they hear */
};

/* Zeroed: on no agenda. */
struct agenda_entry {
    enum agenda_kind kind;
    uint64_t deadline_ns;
    size_t place; /* in the heap, from 1; 0: on no agenda */
};

/* Zeroed: empty. */
struct agenda {
    struct agenda_entry **heap; /* [1 .. n_entries] */
    size_t n_entries;
    size_t n_room;
};

void
agenda_deinit(struct agenda *agenda);

/* Put or move it; UINT64_MAX takes it off. Borrowed until it is taken off. */
void
agenda_set(struct agenda *agenda,
           struct agenda_entry *entry,
           uint64_t deadline_ns);

/* Nothing happens if it is on no agenda. */
void
agenda_remove(struct agenda *agenda, struct agenda_entry *entry);

/* The soonest, or NULL. */
struct agenda_entry *
agenda_first(const struct agenda *agenda);

#endif
