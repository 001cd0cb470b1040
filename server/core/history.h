/*
 * core/history.h - the last changes of a store
 *
 * A watch that starts from a revision is answered from the history, so that it
 * sees every change once and in order, also between two polls. Only keys are
 * kept, because values may be large.
 */

#ifndef CORE_HISTORY_H
#define CORE_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "core/action.h"

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

#endif
