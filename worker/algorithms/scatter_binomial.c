/*
 * algorithms/scatter_binomial.c - scatter down a binomial tree
 *
 * From the highest level to the lowest, blocks cross the edges of the tree
 * (algorithms/binomial.h) away from the root: each message is half as large as the
 * one before. The blocks that cross an edge are contiguous, so that the root
 * sends all of them from their positions. Blocks sent, size 6, root 3:
 *
 *     round 0    3 -> 4: 4 5
 *     round 1    3 -> 0: 0 1
 *     round 2    0 -> 1: 1      3 -> 2: 2    4 -> 5: 5
 *
 * A rank that has children and is not the root receives all blocks of its
 * subtree in scratch, and copies its own block from there.
 *
 * Cost: ceil(log2 n) * alpha + bytes * beta at the root, where bytes is the
 * size of its whole input; but half of the blocks cross each level, so that all
 * ranks together send log2(n)/2 times what the linear variant sends. For small
 * blocks.
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

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    const enum plan_buffer whole =
        shape->is_in_place ? PLAN_OUTPUT : PLAN_INPUT;
    const struct rank_range self = {shape->rank, shape->rank + 1};
    const struct plan_span kept = binomial_blocks_span(shape, whole, self);
    const struct plan_span result = {
        .buffer = PLAN_OUTPUT,
        .count = kept.count,
    };
    const bool is_root = shape->rank == shape->root;
    const bool is_inner = binomial_scratch_count(shape) > 0;
    const uint32_t level = n_rounds(shape) - 1 - round;
    const struct binomial_edge edge = binomial_edge_at(shape, level);

    /* A rank with children has received its blocks in an earlier round than
     * this last one. */
    if (level == 0 && (is_root ? !shape->is_in_place : is_inner))
        plan_add_copy(plan, kept, result);
    if (edge.end == BINOMIAL_PARENT_SIDE)
        plan_add_send(plan, edge.peer, 0,
                      binomial_blocks_span(shape, whole, edge.beyond));
    if (edge.end == BINOMIAL_CHILD_SIDE)
        plan_add_store(plan, edge.peer, 0,
                       is_inner
                           ? binomial_blocks_span(shape, whole, edge.beyond)
                           : result);
}

const struct algorithm algorithm_scatter_binomial = {
    .name = "binomial",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = binomial_scratch_count,
};
