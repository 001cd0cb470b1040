/*
 * parallel/transfer_plan.h - what one rank gives and gets in a step of a
 * redistribution
 *
 * Pure. Whoever gives and gets are the ranks of a plan: of a line, or all. A
 * block is a box of what the giver has before the step, and of what the getter
 * has after it; in a plan's buffers blocks lie in the order of its ranks.
 */

#ifndef PARALLEL_TRANSFER_PLAN_H
#define PARALLEL_TRANSFER_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/sharding.h"

#include "base/cleanup.h"
#include "parallel/redistribution.h"
#include "plan/plan.h"

struct transfer_plan {
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
struct transfer_plan_place {
    const struct redistribution *redistribution;
    uint32_t step;
    uint32_t rank;
    uint32_t n_ranks; /* of the context */
};

/*
 * Of a step in which anything is sent. *out_transfer_plan is the caller's; it
 * borrows nothing. Handle: none (HOOP_E_EXHAUSTED).
 */
enum hoop_status
transfer_plan_create(const struct transfer_plan_place *place,
                     struct transfer_plan **out_transfer_plan);
/* Rank of the plan -> of the context; NULL: the same. Lives as long. */
const uint32_t *
transfer_plan_members(const struct transfer_plan *transfer_plan);
/* Of an exchange: neither gives to rank nor gets anything from it. */
void
transfer_plan_leave_out(struct transfer_plan *transfer_plan, uint32_t rank);
/* NULL is fine. */
void
transfer_plan_destroy(struct transfer_plan *transfer_plan);
DEFINE_CLEANUP(struct transfer_plan *, transfer_plan_destroy)

#endif
