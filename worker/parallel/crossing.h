/*
 * parallel/crossing.h - what one rank gives and gets in a step of a
 * redistribution
 *
 * Pure. Whoever gives and gets are the ranks of a plan: of a line, or all. A
 * block is a box of what the giver has before the step, and of what the getter
 * has after it; in a plan's buffers blocks lie in the order of its ranks.
 */

#ifndef PARALLEL_CROSSING_H
#define PARALLEL_CROSSING_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/sharding.h"

#include "base/cleanup.h"
#include "parallel/redistribution.h"
#include "plan/plan.h"

struct crossing {
    /* Alone and of nothing, for a rank that has no part in the step. */
    struct plan_shape shape;
    /* One block, or one for each rank of the plan: boxes of what this rank has
     * before the step (out) and after it (in), empty where there is nothing. */
    size_t n_out;
    size_t n_in;
    struct hoop_part *out;
    struct hoop_part *in;
    size_t out_count; /* elements */
    size_t in_count;
    /* What it owns. */
    struct hoop_part *boxes;
    uint32_t *members;
    size_t *counts;
    size_t *firsts; /* room for those of an exchange, out and in */
};

/* One rank's side of a step. */
struct crossing_place {
    const struct redistribution *redistribution;
    uint32_t step;
    uint32_t rank;
    uint32_t n_ranks; /* of the channel */
};

/*
 * Of a step in which anything is sent. *out_crossing is the caller's; it
 * borrows nothing. Handle: none (HOOP_E_EXHAUSTED).
 */
enum hoop_status
crossing_create(const struct crossing_place *place,
                struct crossing **out_crossing);
/* Rank of the plan -> of the channel; NULL: the same. Lives as long. */
const uint32_t *
crossing_members(const struct crossing *crossing);
/* Of an exchange: neither gives to rank nor gets anything from it. */
void
crossing_leave_out(struct crossing *crossing, uint32_t rank);
/* NULL is fine. */
void
crossing_destroy(struct crossing *crossing);
DEFINE_CLEANUP(struct crossing *, crossing_destroy)

#endif
