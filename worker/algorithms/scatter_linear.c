/*
 * algorithms/scatter_linear.c - scatter by one message from the root to each
 * rank
 *
 * The root sends one block in every round, beginning with the next rank. As
 * many rounds as the tracker's window holds are active at once, so that one
 * slow rank does not delay the others.
 *
 * Cost: (n-1) * alpha + bytes * beta at the root, where bytes is the size of
 * its whole input. Every byte travels once: the best for large blocks.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "plan/topology.h"

static bool
is_root(const struct plan_shape *shape)
{
    return shape->rank == shape->root;
}

static uint32_t
n_rounds(const struct plan_shape *shape)
{
    return is_root(shape) && shape->size > 1 ? shape->size - 1 : 1;
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(shape->root < shape->size);
    assert(round < n_rounds(shape));

    const enum plan_buffer from = shape->is_in_place ? PLAN_OUTPUT : PLAN_INPUT;
    struct plan_span result =
        caller_block_span(shape, PLAN_OUTPUT, shape->rank);

    result.first = 0;
    if (!is_root(shape)) {
        plan_add_store(plan, shape->root, 0, result);
        return;
    }
    if (round == 0 && !shape->is_in_place)
        plan_add_copy(plan, caller_block_span(shape, from, shape->rank),
                      result);
    if (shape->size == 1)
        return;

    const uint32_t peer = ring_rank_before(shape, shape->size - 1 - round);

    plan_add_send(plan, peer, 0, caller_block_span(shape, from, peer));
}

const struct algorithm algorithm_scatter_linear = {
    .name = "linear",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
};
