/*
 * algorithms/reduce_scatter_pairwise.c - reduce-scatter straight to the owners
 *
 * In round k each rank sends the rank k+1 after it that rank's block, and
 * receives its own block from the rank k+1 before it. It combines them in the
 * order of the rounds, so rank r computes
 *
 *     ((0 (1 ... (r-1 r))) n-1) n-2 ... r+1
 *
 * with lower ranks on the left and higher ones on the right. A message that
 * arrives early waits, so the order, and with it every bit, is always the same.
 *
 * Out of place, sums are computed in the output. In place, the blocks at its
 * start have to be sent first; the sum is computed in a scratch of one block
 * and copied at the end.
 *
 * Cost: (n-1) * (alpha + bytes/n * (beta + gamma)). This is the cost of the
 * ring, but no message depends on another one. The algorithm is good if all
 * ranks reach each other equally fast and blocks are so large that messages
 * cost little, or so uneven that a ring would carry the large ones through all
 * ranks.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "plan/topology.h"

/* In place, there is one more round, for the copy. */
static uint32_t
n_rounds(const struct plan_shape *shape)
{
    if (shape->size == 1)
        return shape->is_in_place ? 0 : 1;
    return shape->size - (shape->is_in_place ? 0 : 1);
}

static struct plan_span
result_span(const struct plan_shape *shape, enum plan_buffer buffer)
{
    struct plan_span span = caller_block_span(shape, buffer, shape->rank);

    span.first = 0;
    return span;
}

static size_t
n_scratch(const struct plan_shape *shape)
{
    if (shape->size == 1 || !shape->is_in_place)
        return 0;
    return result_span(shape, PLAN_SCRATCH).count;
}

static void
plan_add_receive(struct plan *plan,
                 const struct plan_shape *shape,
                 enum plan_buffer own,
                 uint32_t round)
{
    const uint32_t peer = ring_rank_before(shape, round + 1);
    const struct plan_span sum =
        result_span(shape, shape->is_in_place ? PLAN_SCRATCH : PLAN_OUTPUT);

    plan_add_step(plan,
                  &(struct plan_step){
                      .kind = PLAN_REDUCE,
                      .peer = peer,
                      .from = round == 0
                                  ? caller_block_span(shape, own, shape->rank)
                                  : sum,
                      .to = sum,
                      .side = peer < shape->rank ? PLAN_RECEIVED_IS_LEFT_OPERAND
                                                 : PLAN_OWN_IS_LEFT_OPERAND,
                      .is_final = round + 2 == shape->size,
                  });
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    const enum plan_buffer own = shape->is_in_place ? PLAN_OUTPUT : PLAN_INPUT;
    const struct plan_span result = result_span(shape, PLAN_OUTPUT);

    if (shape->size == 1) {
        plan_add_copy(plan, caller_block_span(shape, PLAN_INPUT, 0), result);
        return;
    }
    if (round + 1 == shape->size) {
        plan_add_copy(plan, result_span(shape, PLAN_SCRATCH), result);
        return;
    }

    const uint32_t to = ring_rank_before(shape, shape->size - round - 1);

    plan_add_send(plan, to, 0, caller_block_span(shape, own, to));
    plan_add_receive(plan, shape, own, round);
}

const struct algorithm algorithm_reduce_scatter_pairwise = {
    .name = "pairwise",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
