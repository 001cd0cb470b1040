/*
 * algorithms/gather_binomial.c - gather up a binomial tree
 *
 * From the lowest level to the highest, blocks cross the edges of the tree
 * (algorithms/binomial.h) towards the root: each message is twice as large as the one
 * before. The blocks that cross an edge are contiguous, so that the root
 * receives all of them at their final positions. Blocks sent, size 6, root 3:
 *
 *     round 0    1 -> 0: 1      2 -> 3: 2    5 -> 4: 5
 *     round 1    0 -> 3: 0 1
 *     round 2    4 -> 3: 4 5
 *
 * A rank that has children and is not the root collects their blocks in scratch
 * behind a copy of its own, and sends all of them together.
 *
 * Cost: ceil(log2 n) * alpha + bytes * beta at the root, where bytes is the
 * size of its whole output; but half of the blocks cross each level, so that
 * all ranks together send log2(n)/2 times what the linear variant sends. For
 * small blocks.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "algorithms/binomial.h"
#include "plan/topology.h"

/* A single rank still has to copy its input. */
static uint32_t
n_rounds(const struct plan_shape *shape)
{
    return shape->size == 1 ? 1 : binomial_tree_depth(shape);
}

/* The blocks of this rank's subtree. A rank without children sends its block
 * from the caller's buffer. */
static struct plan_span
subtree_blocks_span(const struct plan_shape *shape, struct plan_span own)
{
    const struct rank_range subtree = binomial_subtree(shape);

    return subtree.end - subtree.first == 1
               ? own
               : binomial_blocks_span(shape, PLAN_OUTPUT, subtree);
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    const struct rank_range self = {shape->rank, shape->rank + 1};
    const struct plan_span kept =
        binomial_blocks_span(shape, PLAN_OUTPUT, self);
    const struct plan_span own = {
        .buffer = shape->is_in_place ? PLAN_OUTPUT : PLAN_INPUT,
        .count = kept.count,
    };
    const struct binomial_edge edge = binomial_edge_at(shape, round);
    const bool is_root = shape->rank == shape->root;

    if (round == 0 &&
        (is_root ? !shape->is_in_place : binomial_scratch_count(shape) > 0))
        plan_add_copy(plan, own, kept);
    if (edge.end == BINOMIAL_PARENT_SIDE)
        plan_add_store(plan, edge.peer, 0,
                       binomial_blocks_span(shape, PLAN_OUTPUT, edge.beyond));
    if (edge.end == BINOMIAL_CHILD_SIDE)
        plan_add_send(plan, edge.peer, 0, subtree_blocks_span(shape, own));
}

const struct algorithm algorithm_gather_binomial = {
    .name = "binomial",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = binomial_scratch_count,
};
