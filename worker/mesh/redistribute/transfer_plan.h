/*
 * mesh/redistribute/transfer_plan.h - what a rank sends and receives in one step
 *
 * The functions are pure. The participants of a step are the ranks of a plan:
 * those of a line, or all. A block is a box of what the sender has before the
 * step, and of what the receiver has after it. In the buffers of a plan blocks
 * are in the order of its ranks.
 */

#ifndef MESH_REDISTRIBUTE_TRANSFER_PLAN_H
#define MESH_REDISTRIBUTE_TRANSFER_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/sharding.h"

#include "base/cleanup.h"
#include "mesh/redistribute/redistribution.h"
#include "plan/plan.h"

struct transfer_plan {
    /* For a rank that takes no part: one rank, no elements. */
    struct plan_shape shape;
    /* One block, or one for each rank of the plan. They are boxes of what this
     * rank has before the step (out) and after it (in), and empty if nothing is
     * sent. */
    size_t n_out;
    size_t n_in;
    struct hoop_part *out;
    struct hoop_part *in;
    size_t out_count; /* elements, as in_count */
    size_t in_count;
    /* Owned memory. */
    struct hoop_part *boxes;
    uint32_t *members;
    size_t *counts;
    /* [2 * size]: first elements of an exchange's blocks, out and in */
    size_t *firsts;
};

/* One rank's view of a step. */
struct transfer_plan_request {
    const struct redistribution *redistribution;
    uint32_t step;
    uint32_t rank;
    uint32_t n_ranks; /* size of the context */
};

/* Creates the plan of a step in which some rank sends. The caller passes
 * *out_transfer_plan to transfer_plan_destroy(). It borrows nothing.
 * Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
transfer_plan_create(const struct transfer_plan_request *place,
                     struct transfer_plan **out_transfer_plan);
/* Returns the rank in the context of each rank of the plan. NULL: the same
 * numbers. The list lives as long as the plan. */
const uint32_t *
transfer_plan_members(const struct transfer_plan *transfer_plan);
/* Removes what this rank exchanges with rank from the plan of an exchange. */
void
transfer_plan_drop_rank(struct transfer_plan *transfer_plan, uint32_t rank);
/* NULL is allowed. */
void
transfer_plan_destroy(struct transfer_plan *transfer_plan);
DEFINE_CLEANUP(struct transfer_plan *, transfer_plan_destroy)

#endif
