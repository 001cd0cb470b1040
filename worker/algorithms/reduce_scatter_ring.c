/*
 * algorithms/reduce_scatter_ring.c - reduce-scatter in n-1 rounds over a ring
 *
 * This is the first half of the ring all-reduce (allreduce_ring.c has the
 * drawing), on the blocks that the caller laid out. What arrives is combined
 * with the rank's own contribution and sent on in the next round; the block
 * that arrives last is the rank's own, and finished.
 *
 * The input must not change, even in place, so partial sums are kept in
 * scratch: in two slots of the largest block, used alternately. A slot is
 * overwritten only where the send that reads it has passed, and that send
 * depends only on the round before, so two slots cannot deadlock the ring.
 *
 * In place, the result belongs at the start of the output. It waits for blocks
 * that are still to be sent from there in earlier rounds. It cannot wait for a
 * block that is sent in the same round, which happens with two ranks. And with
 * uneven blocks the result may partly overlap the rank's own block, which a
 * reduction does not support. In these two cases the result goes through the
 * scratch, in one more round.
 *
 * Cost: (n-1) * (alpha + bytes/n * beta).
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "plan/topology.h"

static enum plan_buffer
own_input_buffer(const struct plan_shape *shape)
{
    return shape->is_in_place ? PLAN_OUTPUT : PLAN_INPUT;
}

static struct plan_span
result_span(const struct plan_shape *shape)
{
    struct plan_span span = caller_block_span(shape, PLAN_OUTPUT, shape->rank);

    span.first = 0;
    return span;
}

/* In place, if the result would partly overlap the rank's own block or, with
 * two ranks, the other block, which is sent in the same round. */
static bool
result_needs_scratch(const struct plan_shape *shape)
{
    const struct plan_span own =
        caller_block_span(shape, PLAN_OUTPUT, shape->rank);

    return shape->is_in_place && own.first > 0 &&
           (shape->size == 2 || own.first < own.count);
}

/* Where the partial sum of a round is. */
static struct plan_span
scratch_slot_span(const struct plan_shape *shape, uint32_t round, size_t count)
{
    return (struct plan_span){
        .buffer = PLAN_SCRATCH,
        .first = round % 2 ? caller_block_max_count(shape) : 0,
        .count = count,
    };
}

static uint32_t
n_rounds(const struct plan_shape *shape)
{
    if (shape->size == 1)
        return shape->is_in_place ? 0 : 1;
    return shape->size - 1 + (result_needs_scratch(shape) ? 1 : 0);
}

static size_t
n_scratch(const struct plan_shape *shape)
{
    if (shape->size == 1)
        return 0;

    /* One partial sum for each round but the one that writes the result. */
    const uint32_t n_partial =
        shape->size - (result_needs_scratch(shape) ? 1 : 2);

    return (n_partial < 2 ? n_partial : 2) * caller_block_max_count(shape);
}

static void
plan_add_round_send(struct plan *plan,
                    const struct plan_shape *shape,
                    uint32_t round)
{
    const struct plan_span own = caller_block_span(
        shape, own_input_buffer(shape), ring_rank_before(shape, round + 1));

    plan_add_send(plan, ring_next(shape), round,
                  round == 0 ? own
                             : scratch_slot_span(shape, round - 1, own.count));
}

static void
plan_add_receive(struct plan *plan,
                 const struct plan_shape *shape,
                 uint32_t round)
{
    const struct plan_span own = caller_block_span(
        shape, own_input_buffer(shape), ring_rank_before(shape, round + 2));
    const bool is_final = round + 2 == shape->size;
    const bool is_result = is_final && !result_needs_scratch(shape);

    plan_add_step(
        plan, &(struct plan_step){
                  .kind = PLAN_REDUCE,
                  .peer = ring_prev(shape),
                  .message = round,
                  .from = own,
                  .to = is_result ? result_span(shape)
                                  : scratch_slot_span(shape, round, own.count),
                  .side = ring_operand_side(shape),
                  .is_final = is_final,
              });
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    const struct plan_span result = result_span(shape);

    if (shape->size == 1) {
        plan_add_copy(plan, caller_block_span(shape, PLAN_INPUT, 0), result);
        return;
    }
    if (round + 1 == shape->size) {
        plan_add_copy(plan, scratch_slot_span(shape, round - 1, result.count),
                      result);
        return;
    }
    plan_add_round_send(plan, shape, round);
    plan_add_receive(plan, shape, round);
}

const struct algorithm algorithm_reduce_scatter_ring = {
    .name = "ring",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
