/*
 * diagnosis/diagnosis.h - says in one sentence what holds a job up
 *
 * A table of rules, of which the first that matches a snapshot makes the
 * verdict. Pure. Thread: any.
 */

#ifndef DIAGNOSIS_DIAGNOSIS_H
#define DIAGNOSIS_DIAGNOSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "diagnosis/snapshot.h"

struct verdict {
    const char *kind;                /* "stopped"; static */
    bool is_held_up;                 /* something holds the job up */
    char sentence[LIMIT_ERROR_TEXT]; /* what holds the job up */
    char advice[LIMIT_ERROR_TEXT];   /* what to look at next, or "" */
    /* The ranks that hold the job up; at most LIMIT_WHY_CULPRITS are named. */
    size_t n_culprits;
    uint32_t culprits[LIMIT_WHY_CULPRITS];
};

/* Write the verdict on snapshot. */
void
diagnosis_make(const struct snapshot *snapshot, struct verdict *out_verdict);

/* Write the places of the ranks in snapshot->ranks in the order in which
 * people want to see them: those that the verdict names, then those that are
 * furthest behind. out_order has room for n_ranks. */
void
diagnosis_order(const struct snapshot *snapshot,
                const struct verdict *verdict,
                uint32_t *out_order);

#endif
