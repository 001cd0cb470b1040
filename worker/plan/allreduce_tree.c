/*
 * plan/allreduce_tree.c - all-reduce up a tree, across its top, and down again
 *
 * A reduce and a broadcast on the binomial tree of rank 0 (plan/binomial.h),
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

#include "plan/algorithms.h"
#include "plan/binomial.h"
#include "plan/topology.h"

/* The rounds go up, across, combine a stored arrival, and go down. */
static uint32_t
n_rounds(const struct plan_shape *shape)
{
    if (shape->size == 1)
        return shape->is_in_place ? 0 : 1;
    return 2 * binomial_depth(shape);
}

static uint32_t
top_level(const struct plan_shape *shape)
{
    return binomial_depth(shape) - 1;
}

static bool
is_top(const struct plan_shape *shape)
{
    return binomial_edge_at(shape, top_level(shape)).end != BINOMIAL_NONE;
}

/* Does this rank receive anything at the levels [first, end) on the way up? */
static bool
has_arrivals(const struct plan_shape *shape, uint32_t first, uint32_t end)
{
    for (uint32_t level = first; level < end; level++) {
        if (binomial_edge_at(shape, level).end == BINOMIAL_NEAR)
            return true;
    }
    return false;
}

static bool
last_is_kept(const struct plan_shape *shape)
{
    return shape->is_in_place && !has_arrivals(shape, 0, top_level(shape));
}

static size_t
n_scratch(const struct plan_shape *shape)
{
    if (shape->size == 1 || !is_top(shape))
        return 0;
    return has_arrivals(shape, 0, top_level(shape)) || shape->is_in_place
               ? shape->count
               : 0;
}

/* Where this rank's sum stands before a level. */
static struct plan_span
sum_before(const struct plan_shape *shape, uint32_t level)
{
    if (!has_arrivals(shape, 0, level))
        return block_whole(shape,
                           shape->is_in_place ? PLAN_OUTPUT : PLAN_INPUT);
    return block_whole(shape,
                       level == top_level(shape) ? PLAN_SCRATCH : PLAN_OUTPUT);
}

static void
plan_up(struct plan *plan, const struct plan_shape *shape, uint32_t level)
{
    const struct binomial_edge edge = binomial_edge_at(shape, level);
    const bool is_last =
        is_top(shape) && !has_arrivals(shape, level + 1, top_level(shape));

    if (edge.end == BINOMIAL_FAR)
        plan_send(plan, edge.peer, level, sum_before(shape, level));
    if (edge.end == BINOMIAL_NEAR)
        plan_add(plan, &(struct plan_step){
                           .kind = PLAN_REDUCE,
                           .peer = edge.peer,
                           .message = level,
                           .from = sum_before(shape, level),
                           .to = block_whole(shape, is_last ? PLAN_SCRATCH
                                                            : PLAN_OUTPUT),
                           .side = PLAN_OWN_LEFT,
                       });
}

/* The first rank of the lower half sees the upper half at the far end. */
static enum plan_side
side_across(const struct plan_shape *shape)
{
    const struct binomial_edge edge = binomial_edge_at(shape, top_level(shape));

    return edge.end == BINOMIAL_NEAR ? PLAN_OWN_LEFT : PLAN_ARRIVED_LEFT;
}

static void
plan_across(struct plan *plan, const struct plan_shape *shape)
{
    const uint32_t level = top_level(shape);
    const uint32_t peer = binomial_edge_at(shape, level).peer;
    const struct plan_span sum = sum_before(shape, level);

    plan_send(plan, peer, level, sum);
    if (last_is_kept(shape)) {
        plan_store(plan, peer, level, block_whole(shape, PLAN_SCRATCH));
        return;
    }
    plan_add(plan, &(struct plan_step){
                       .kind = PLAN_REDUCE,
                       .peer = peer,
                       .message = level,
                       .from = sum,
                       .to = block_whole(shape, PLAN_OUTPUT),
                       .side = side_across(shape),
                       .is_final = true,
                   });
}

static void
plan_kept(struct plan *plan, const struct plan_shape *shape)
{
    if (!last_is_kept(shape))
        return;
    plan_add(plan, &(struct plan_step){
                       .kind = PLAN_COMBINE,
                       .from = block_whole(shape, PLAN_SCRATCH),
                       .to = block_whole(shape, PLAN_OUTPUT),
                       .side = side_across(shape),
                       .is_final = true,
                   });
}

static void
plan_down(struct plan *plan, const struct plan_shape *shape, uint32_t level)
{
    const struct binomial_edge edge = binomial_edge_at(shape, level);
    const struct plan_span result = block_whole(shape, PLAN_OUTPUT);
    const uint32_t message = top_level(shape) + 1 + level;

    if (edge.end == BINOMIAL_NEAR)
        plan_send(plan, edge.peer, message, result);
    if (edge.end == BINOMIAL_FAR)
        plan_store(plan, edge.peer, message, result);
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));
    assert(shape->root == 0);

    if (shape->size == 1) {
        plan_copy(plan, block_whole(shape, PLAN_INPUT),
                  block_whole(shape, PLAN_OUTPUT));
        return;
    }

    const uint32_t top = top_level(shape);

    if (round < top)
        plan_up(plan, shape, round);
    else if (round == top && is_top(shape))
        plan_across(plan, shape);
    else if (round == top + 1 && is_top(shape))
        plan_kept(plan, shape);
    else if (round > top + 1)
        plan_down(plan, shape, 2 * top + 1 - round);
}

const struct algorithm algorithm_allreduce_tree = {
    .name = "tree",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
