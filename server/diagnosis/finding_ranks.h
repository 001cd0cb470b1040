/*
 * diagnosis/finding_ranks.h - what all findings ask of a rank
 *
 * Private to diagnosis/. Pure.
 */

#ifndef DIAGNOSIS_FINDING_RANKS_H
#define DIAGNOSIS_FINDING_RANKS_H

#include "diagnosis/findings.h"

enum {
    /* A call that has waited for less is taken to move: the heartbeats and the
     * questions to the awaited rank need as long. */
    STUCK_MS = 1000,
};

/* Return the rank of that number in a running job, or NULL. */
static inline const struct snapshot_rank *
rank_by_number(const struct snapshot *snapshot, uint32_t rank)
{
    return snapshot->state == SNAPSHOT_RUNNING && rank < snapshot->n_ranks &&
                   snapshot->ranks[rank].rank == rank
               ? &snapshot->ranks[rank]
               : NULL;
}

static inline bool
is_active(const struct snapshot_rank *rank)
{
    return rank->state == SNAPSHOT_ACTIVE;
}

/* Return whether rank has been in one call for so long that it is stuck. */
static inline bool
is_stuck(const struct snapshot_rank *rank)
{
    return is_active(rank) && rank->has_answered && rank->call.text[0] &&
           rank->call.age_ms >= STUCK_MS;
}

static inline void
finding_add_culprit(struct finding *finding, const struct snapshot_rank *rank)
{
    if (finding->n_culprits < LIMIT_WHY_CULPRITS)
        finding->culprits[finding->n_culprits++] = rank->rank;
}

#endif
