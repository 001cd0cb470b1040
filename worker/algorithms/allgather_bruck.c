/*
 * algorithms/allgather_bruck.c - all-gather in ceil(log2 n) rounds
 *
 * Before round k a rank holds 2^k blocks: its own and those of the ranks after
 * it. It sends them to the rank 2^k before it and receives as many from the
 * rank 2^k after it; in the last round, only as many as are still missing.
 * Blocks held, n = 5:
 *
 *     rank 0    0   0 1   0 1 2 3   0 1 2 3 4
 *     rank 4    4   4 0   4 0 1 2   4 0 1 2 3
 *
 * Blocks are sent from and received at their final positions, so nothing has to
 * be rotated at the end. Blocks that wrap around the end of the output (4 0 1
 * 2) are sent in two messages; the sender and the receiver split them alike.
 *
 * Out of place, the rank's own block is sent from the input and is copied to
 * its position at the same time.
 *
 * Cost: ceil(log2 n) * alpha + (n-1)/n * bytes * beta, where bytes is the size
 * of the whole output. This moves as many bytes as the ring, in fewer messages,
 * but most of the bytes go to distant ranks.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "plan/topology.h"

static uint32_t
n_rounds(const struct plan_shape *shape)
{
    if (shape->size == 1)
        return shape->is_in_place ? 0 : 1;
    return doubling_round_count(shape);
}

/* Part 0 is the n_blocks from block first on, up to the end of the output. Part
 * 1 is the rest of them, from the start of the output. */
static struct plan_span
wrapped_blocks_span(const struct plan_shape *shape,
                    uint32_t first,
                    uint32_t n_blocks,
                    uint32_t part)
{
    const uint32_t until_end = shape->size - first;
    const uint32_t n_before = n_blocks < until_end ? n_blocks : until_end;

    if (part == 0)
        return caller_block_run_span(shape, PLAN_OUTPUT, first, n_before);
    return caller_block_run_span(shape, PLAN_OUTPUT, 0, n_blocks - n_before);
}

static void
plan_add_own_block(struct plan *plan,
                   const struct plan_shape *shape,
                   uint32_t to)
{
    const struct plan_span place =
        caller_block_span(shape, PLAN_OUTPUT, shape->rank);
    const struct plan_span input = {PLAN_INPUT, 0, place.count};

    if (shape->is_in_place) {
        plan_add_send(plan, to, 0, place);
        return;
    }
    plan_add_copy(plan, input, place);
    plan_add_send(plan, to, 0, input);
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    if (shape->size == 1) {
        plan_add_copy(plan, caller_block_span(shape, PLAN_INPUT, 0),
                      caller_block_span(shape, PLAN_OUTPUT, 0));
        return;
    }

    const uint32_t reach = (uint32_t)1 << round;
    const uint32_t n_missing = shape->size - reach;
    const uint32_t n_blocks = reach < n_missing ? reach : n_missing;
    const uint32_t to = ring_rank_before(shape, reach);
    const uint32_t from = ring_rank_before(shape, n_missing);

    if (round == 0)
        plan_add_own_block(plan, shape, to);
    for (uint32_t part = 0; part < 2; part++) {
        const uint32_t message = 2 * round + part;

        if (round > 0)
            plan_add_send(
                plan, to, message,
                wrapped_blocks_span(shape, shape->rank, n_blocks, part));
        plan_add_store(plan, from, message,
                       wrapped_blocks_span(shape, from, n_blocks, part));
    }
}

const struct algorithm algorithm_allgather_bruck = {
    .name = "bruck",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
};
