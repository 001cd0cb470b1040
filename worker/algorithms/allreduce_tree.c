/*
 * algorithms/allreduce_tree.c - all-reduce up a tree, across its top, and down again
 *
 * A reduce and a broadcast on the binomial tree of rank 0 (algorithms/binomial.h),
 * except for the edge at the top: there the first ranks of the two halves send
 * each other their sums, and each sends the result down its own half. Size 6:
 *
 *     up        1 -> 0    3 -> 2    5 -> 4
 *               2 -> 0
 *     across    0 <-> 4
 *     down      0 -> 2
 *               0 -> 1    2 -> 3    4 -> 5
 *
 * The two ranks compute the same sum by the same expression, the lower half
 * left, and both divide for AVG; the result that goes down is finished.
 *
 * A sum that is being sent must not change, so the two first ranks collect
 * their sums in scratch. A first rank without children has only its own
 * elements to send; in place, it stores the sum that comes across and combines
 * it when its elements have been sent.
 *
 * Cost: 2 (n - 1) messages in total, as few as possible, and 2 log2 n - 1 in
 * sequence. Recursive doubling has n log2 n in total and log2 n in sequence.
 * For ranks that share a processor the total work counts. This plan is
 * "hierarchical_tree" if all ranks are on one node.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "algorithms/binomial.h"
#include "plan/topology.h"

/* The rounds go up, across, combine a stored arrival, and go down. */
static uint32_t
n_rounds(const struct plan_shape *shape)
{
    if (shape->size == 1)
        return shape->is_in_place ? 0 : 1;
    return 2 * binomial_tree_depth(shape);
}

static uint32_t
tree_top_level(const struct plan_shape *shape)
{
    return binomial_tree_depth(shape) - 1;
}

static bool
is_at_tree_top(const struct plan_shape *shape)
{
    return binomial_edge_at(shape, tree_top_level(shape)).end !=
           BINOMIAL_NO_EDGE;
}

/* Does this rank receive anything at the levels [first, end) on the way up? */
static bool
receives_at_levels(const struct plan_shape *shape, uint32_t first, uint32_t end)
{
    for (uint32_t level = first; level < end; level++) {
        if (binomial_edge_at(shape, level).end == BINOMIAL_PARENT_SIDE)
            return true;
    }
    return false;
}

static bool
last_combine_is_deferred(const struct plan_shape *shape)
{
    return shape->is_in_place &&
           !receives_at_levels(shape, 0, tree_top_level(shape));
}

static size_t
n_scratch(const struct plan_shape *shape)
{
    if (shape->size == 1 || !is_at_tree_top(shape))
        return 0;
    return receives_at_levels(shape, 0, tree_top_level(shape)) ||
                   shape->is_in_place
               ? shape->count
               : 0;
}

/* Where this rank's sum stands before a level. */
static struct plan_span
partial_sum_before_level(const struct plan_shape *shape, uint32_t level)
{
    if (!receives_at_levels(shape, 0, level))
        return whole_buffer_span(shape,
                                 shape->is_in_place ? PLAN_OUTPUT : PLAN_INPUT);
    return whole_buffer_span(
        shape, level == tree_top_level(shape) ? PLAN_SCRATCH : PLAN_OUTPUT);
}

static void
plan_add_tree_up(struct plan *plan,
                 const struct plan_shape *shape,
                 uint32_t level)
{
    const struct binomial_edge edge = binomial_edge_at(shape, level);
    const bool is_last =
        is_at_tree_top(shape) &&
        !receives_at_levels(shape, level + 1, tree_top_level(shape));

    if (edge.end == BINOMIAL_CHILD_SIDE)
        plan_add_send(plan, edge.peer, level,
                      partial_sum_before_level(shape, level));
    if (edge.end == BINOMIAL_PARENT_SIDE)
        plan_add_step(plan,
                      &(struct plan_step){
                          .kind = PLAN_REDUCE,
                          .peer = edge.peer,
                          .message = level,
                          .from = partial_sum_before_level(shape, level),
                          .to = whole_buffer_span(shape, is_last ? PLAN_SCRATCH
                                                                 : PLAN_OUTPUT),
                          .side = PLAN_OWN_IS_LEFT_OPERAND,
                      });
}

/* The first rank of the lower half sees the upper half at the far end. */
static enum plan_operand_side
top_exchange_side(const struct plan_shape *shape)
{
    const struct binomial_edge edge =
        binomial_edge_at(shape, tree_top_level(shape));

    return edge.end == BINOMIAL_PARENT_SIDE ? PLAN_OWN_IS_LEFT_OPERAND
                                            : PLAN_RECEIVED_IS_LEFT_OPERAND;
}

static void
plan_add_top_exchange(struct plan *plan, const struct plan_shape *shape)
{
    const uint32_t level = tree_top_level(shape);
    const uint32_t peer = binomial_edge_at(shape, level).peer;
    const struct plan_span sum = partial_sum_before_level(shape, level);

    plan_add_send(plan, peer, level, sum);
    if (last_combine_is_deferred(shape)) {
        plan_add_store(plan, peer, level,
                       whole_buffer_span(shape, PLAN_SCRATCH));
        return;
    }
    plan_add_step(plan, &(struct plan_step){
                            .kind = PLAN_REDUCE,
                            .peer = peer,
                            .message = level,
                            .from = sum,
                            .to = whole_buffer_span(shape, PLAN_OUTPUT),
                            .side = top_exchange_side(shape),
                            .is_final = true,
                        });
}

static void
plan_add_deferred_combine(struct plan *plan, const struct plan_shape *shape)
{
    if (!last_combine_is_deferred(shape))
        return;
    plan_add_step(plan, &(struct plan_step){
                            .kind = PLAN_COMBINE,
                            .from = whole_buffer_span(shape, PLAN_SCRATCH),
                            .to = whole_buffer_span(shape, PLAN_OUTPUT),
                            .side = top_exchange_side(shape),
                            .is_final = true,
                        });
}

static void
plan_add_tree_down(struct plan *plan,
                   const struct plan_shape *shape,
                   uint32_t level)
{
    const struct binomial_edge edge = binomial_edge_at(shape, level);
    const struct plan_span result = whole_buffer_span(shape, PLAN_OUTPUT);
    const uint32_t message = tree_top_level(shape) + 1 + level;

    if (edge.end == BINOMIAL_PARENT_SIDE)
        plan_add_send(plan, edge.peer, message, result);
    if (edge.end == BINOMIAL_CHILD_SIDE)
        plan_add_store(plan, edge.peer, message, result);
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));
    assert(shape->root == 0);

    if (shape->size == 1) {
        plan_add_copy(plan, whole_buffer_span(shape, PLAN_INPUT),
                      whole_buffer_span(shape, PLAN_OUTPUT));
        return;
    }

    const uint32_t top = tree_top_level(shape);

    if (round < top)
        plan_add_tree_up(plan, shape, round);
    else if (round == top && is_at_tree_top(shape))
        plan_add_top_exchange(plan, shape);
    else if (round == top + 1 && is_at_tree_top(shape))
        plan_add_deferred_combine(plan, shape);
    else if (round > top + 1)
        plan_add_tree_down(plan, shape, 2 * top + 1 - round);
}

const struct algorithm algorithm_allreduce_tree = {
    .name = "tree",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
