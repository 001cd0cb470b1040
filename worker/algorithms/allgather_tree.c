/*
 * algorithms/allgather_tree.c - all-gather up a tree and down again
 *
 * From the lowest level of a binomial tree (algorithms/binomial.h) to the highest,
 * blocks cross the edges upwards; then all blocks go down the same edges. The
 * output has room for all blocks, so they stand at their final positions on the
 * way. A rank receives all blocks only after those that it has sent up have
 * arrived. Blocks sent, size 6, root 0:
 *
 *     up        1 -> 0: 1      3 -> 2: 3    5 -> 4: 5
 *               2 -> 0: 2 3
 *               4 -> 0: 4 5
 *     down      0 -> 4, 0 -> 2, 0 -> 1, 2 -> 3, 4 -> 5: all
 *
 * Cost: 2 (n - 1) messages in total over n - 1 connections, 2 ceil(log2 n) of
 * them in sequence; bytes * log2 n at the root, where bytes is the size of the
 * whole output. Bruck's algorithm has n log2 n messages over as many
 * connections. Use the tree for small blocks of many ranks that share
 * processors.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "algorithms/binomial.h"
#include "plan/topology.h"

static uint32_t
n_rounds(const struct plan_shape *shape)
{
    if (shape->size == 1)
        return shape->is_in_place ? 0 : 1;
    return 2 * binomial_tree_depth(shape);
}

/* A leaf of the tree sends its block from the input, because all blocks, its
 * own included, come down to it. */
static bool
is_leaf(const struct plan_shape *shape)
{
    return binomial_edge_at(shape, 0).end == BINOMIAL_CHILD_SIDE;
}

static void
plan_add_tree_up(struct plan *plan,
                 const struct plan_shape *shape,
                 uint32_t level)
{
    const struct binomial_edge edge = binomial_edge_at(shape, level);
    const struct plan_span beyond =
        caller_block_run_span(shape, PLAN_OUTPUT, edge.beyond.first,
                              edge.beyond.end - edge.beyond.first);

    if (edge.end == BINOMIAL_CHILD_SIDE)
        plan_add_send(plan, edge.peer, level,
                      is_leaf(shape) && !shape->is_in_place
                          ? (struct plan_span){PLAN_INPUT, 0, beyond.count}
                          : beyond);
    if (edge.end == BINOMIAL_PARENT_SIDE)
        plan_add_store(plan, edge.peer, level, beyond);
}

static void
plan_add_tree_down(struct plan *plan,
                   const struct plan_shape *shape,
                   uint32_t level)
{
    const uint32_t message = binomial_tree_depth(shape) + level;
    const struct binomial_edge edge = binomial_edge_at(shape, level);
    const struct plan_span all =
        caller_block_run_span(shape, PLAN_OUTPUT, 0, shape->size);

    if (edge.end == BINOMIAL_PARENT_SIDE)
        plan_add_send(plan, edge.peer, message, all);
    if (edge.end == BINOMIAL_CHILD_SIDE)
        plan_add_store(plan, edge.peer, message, all);
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    const uint32_t depth = binomial_tree_depth(shape);

    assert(round < n_rounds(shape));

    if (round == 0 && !shape->is_in_place && !is_leaf(shape)) {
        const struct plan_span place =
            caller_block_span(shape, PLAN_OUTPUT, shape->rank);

        plan_add_copy(plan, (struct plan_span){PLAN_INPUT, 0, place.count},
                      place);
    }
    if (shape->size == 1)
        return;
    if (round < depth)
        plan_add_tree_up(plan, shape, round);
    else
        plan_add_tree_down(plan, shape, 2 * depth - 1 - round);
}

const struct algorithm algorithm_allgather_tree = {
    .name = "tree",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
};
