/*
 * algorithms/reduce_binomial.c - reduce up a binomial tree
 *
 * From the lowest level to the highest, partial results cross the edges of the
 * tree (algorithms/binomial.h) towards the root: in each round half of the ranks that
 * hold one send it. Size 6, root 3:
 *
 *     round 0    1 -> 0    2 -> 3    5 -> 4
 *     round 1    0 -> 3
 *     round 2    4 -> 3
 *
 * Both operands hold contiguous ranks, and the lower ones are on the left. The
 * size alone determines the order of the combinations: ((0 1) (2 3)) (4 5)
 * here. The result thus has the same bits whichever rank is the root.
 *
 * No input changes: ranks that pass a result on combine into scratch, even in
 * place, and only the root's output is written. The engine forwards bytes as
 * they arrive, so that all levels are active at once for a large buffer.
 *
 * Cost: ceil(log2 n) * (alpha + bytes * (beta + gamma)).
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

static bool
is_root(const struct plan_shape *shape)
{
    return shape->rank == shape->root;
}

static size_t
n_scratch(const struct plan_shape *shape)
{
    const struct rank_range subtree = binomial_subtree(shape);
    const bool is_leaf = subtree.end - subtree.first == 1;

    return is_root(shape) || is_leaf ? 0 : shape->count;
}

/* This rank's partial result before a level: its own elements, until something
 * has been combined with them. */
static struct plan_span
partial_sum_before_level(const struct plan_shape *shape, uint32_t level)
{
    for (uint32_t i = 0; i < level; i++) {
        if (binomial_edge_at(shape, i).end == BINOMIAL_PARENT_SIDE)
            return whole_buffer_span(shape, is_root(shape) ? PLAN_OUTPUT
                                                           : PLAN_SCRATCH);
    }
    return whole_buffer_span(shape,
                             shape->is_in_place ? PLAN_OUTPUT : PLAN_INPUT);
}

static void
plan_add_receive(struct plan *plan,
                 const struct plan_shape *shape,
                 uint32_t level,
                 uint32_t peer)
{
    const enum plan_buffer to = is_root(shape) ? PLAN_OUTPUT : PLAN_SCRATCH;

    plan_add_step(plan,
                  &(struct plan_step){
                      .kind = PLAN_REDUCE,
                      .peer = peer,
                      .from = partial_sum_before_level(shape, level),
                      .to = whole_buffer_span(shape, to),
                      .side = peer < shape->rank ? PLAN_RECEIVED_IS_LEFT_OPERAND
                                                 : PLAN_OWN_IS_LEFT_OPERAND,
                      /* The root always has an edge at the highest level. */
                      .is_final = level + 1 == binomial_tree_depth(shape),
                  });
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    const struct binomial_edge edge = binomial_edge_at(shape, round);

    if (shape->size == 1 && !shape->is_in_place)
        plan_add_copy(plan, whole_buffer_span(shape, PLAN_INPUT),
                      whole_buffer_span(shape, PLAN_OUTPUT));
    if (edge.end == BINOMIAL_PARENT_SIDE)
        plan_add_receive(plan, shape, round, edge.peer);
    if (edge.end == BINOMIAL_CHILD_SIDE)
        plan_add_send(plan, edge.peer, 0,
                      partial_sum_before_level(shape, round));
}

const struct algorithm algorithm_reduce_binomial = {
    .name = "binomial",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
