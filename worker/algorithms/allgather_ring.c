/*
 * algorithms/allgather_ring.c - all-gather in n-1 rounds over a ring
 *
 * This is the second half of the ring all-reduce, on the blocks that the caller
 * laid out. Each rank first sends its own block and then, in every round, the
 * block that it received in the round before. Blocks sent, n = 3:
 *
 *     round     0  1
 *     rank 0    0  2
 *     rank 1    1  0
 *     rank 2    2  1
 *
 * Out of place, the rank's own block is sent from the input and is copied to
 * its position at the same time.
 *
 * Cost: (n-1) * (alpha + bytes/n * beta), where bytes is the size of the whole
 * output.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "plan/topology.h"

static uint32_t
n_rounds(const struct plan_shape *shape)
{
    if (shape->size == 1)
        return shape->is_in_place ? 0 : 1;
    return shape->size - 1;
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    struct plan_span from =
        caller_block_span(shape, PLAN_OUTPUT, ring_rank_before(shape, round));

    if (round == 0 && !shape->is_in_place) {
        const struct plan_span place = from;

        from.buffer = PLAN_INPUT;
        from.first = 0;
        plan_add_copy(plan, from, place);
    }
    if (shape->size == 1)
        return;
    plan_add_send(plan, ring_next(shape), round, from);
    plan_add_store(plan, ring_prev(shape), round,
                   caller_block_span(shape, PLAN_OUTPUT,
                                     ring_rank_before(shape, round + 1)));
}

const struct algorithm algorithm_allgather_ring = {
    .name = "ring",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
};
