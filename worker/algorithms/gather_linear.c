/*
 * algorithms/gather_linear.c - gather by one message from each rank to the root
 *
 * The root receives one block in every round at its final position, beginning
 * with the next rank. As many rounds as the tracker's window holds are active
 * at once: one slow rank does not delay the others, and a thousand ranks do not
 * all send at the same time.
 *
 * Cost: (n-1) * alpha + bytes * beta at the root, where bytes is the size of
 * its whole output. Every byte travels once: the best for large blocks.
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

    struct plan_span own = caller_block_span(shape, PLAN_INPUT, shape->rank);

    own.first = 0;
    if (!is_root(shape)) {
        own.buffer = shape->is_in_place ? PLAN_OUTPUT : PLAN_INPUT;
        plan_add_send(plan, shape->root, 0, own);
        return;
    }
    if (round == 0 && !shape->is_in_place)
        plan_add_copy(plan, own,
                      caller_block_span(shape, PLAN_OUTPUT, shape->rank));
    if (shape->size == 1)
        return;

    const uint32_t peer = ring_rank_before(shape, shape->size - 1 - round);

    plan_add_store(plan, peer, 0, caller_block_span(shape, PLAN_OUTPUT, peer));
}

const struct algorithm algorithm_gather_linear = {
    .name = "linear",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
};
