/*
 * core/history.h - the last changes of a store
 *
 * A watch that asks from a revision is answered from here, so that it sees
 * every change once and in order, also between two polls. Only keys are kept:
 * values may be large.
 */

#ifndef CORE_HISTORY_H
#define CORE_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "core/action.h"

struct history_record;
struct memory_account;

/* Zeroed but for memory: empty. */
struct history {
    struct memory_account *memory; /* to what it is charged */
    struct history_record *ring;   /* revision r is at r modulo its size */
    uint64_t revision;             /* the last one */
    size_t n_key_bytes;            /* allocated for keys */
    uint64_t forgotten;            /* up to here, nothing is known any more */
};

void
history_deinit(struct history *history);

/* Gives it the next revision, which is returned. key: copied. */
uint64_t
history_add(struct history *history,
            enum cluster_key_change_kind kind,
            const char *key);

/* Forgets the oldest changes while their keys take more than they may. Nobody has
 * still to look at them. */
void
history_trim(struct history *history);

/* All that was up to revision is forgotten. The history is empty. */
void
history_recover(struct history *history, uint64_t revision);

/* The first revision that is still known; revision + 1 if none is. */
uint64_t
history_first(const struct history *history);

/* One that is known. key is borrowed until the next history_add(). */
struct cluster_key_change
history_at(const struct history *history, uint64_t revision);

#endif
