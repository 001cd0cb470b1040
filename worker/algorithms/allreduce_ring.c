/*
 * algorithms/allreduce_ring.c - all-reduce in 2(n-1) rounds over a ring
 *
 * The buffer is cut into n blocks. In every round each rank sends one block to
 * the next rank and receives one from the previous rank; from round to round,
 * both block numbers decrease by one. In the first n-1 rounds the received
 * block is combined, which leaves rank r with block r finished. In the last n-1
 * rounds the received block is already finished and replaces the rank's own.
 * The block numbers continue across the two phases. Blocks sent, n = 3:
 *
 *     round     0  1 | 2  3
 *     rank 0    2  1 | 0  2
 *     rank 1    0  2 | 1  0
 *     rank 2    1  0 | 2  1
 *
 * Block c starts at rank c+1 and is combined in the order c+1 ... n-1 0 ... c,
 * with rank 0 to the left of the higher ones. Each block is combined on one
 * rank at a time and then copied, so all ranks get the same bits.
 *
 * Out of place, the first block is sent from the input. Every combination reads
 * the input and writes the output, so that no copy is needed before.
 *
 * Cost: 2(n-1) * (alpha + bytes/n * beta). Bandwidth-optimal, but with a high
 * latency.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "plan/topology.h"

static uint32_t
n_rounds(const struct plan_shape *shape)
{
    if (shape->size == 1)
        return shape->is_in_place ? 0 : 1;
    return 2 * (shape->size - 1);
}

static void
plan_add_receive(struct plan *plan,
                 const struct plan_shape *shape,
                 enum plan_buffer own,
                 uint32_t round)
{
    const uint32_t reduce_rounds = shape->size - 1;
    const uint32_t block = ring_rank_before(shape, round + 2);
    const struct plan_span to = partition_block_span(shape, PLAN_OUTPUT, block);

    if (round >= reduce_rounds) {
        plan_add_store(plan, ring_prev(shape), round, to);
        return;
    }
    plan_add_step(plan, &(struct plan_step){
                            .kind = PLAN_REDUCE,
                            .peer = ring_prev(shape),
                            .message = round,
                            .from = {own, to.first, to.count},
                            .to = to,
                            .side = ring_operand_side(shape),
                            .is_final = round + 1 == reduce_rounds,
                        });
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    const enum plan_buffer own = shape->is_in_place ? PLAN_OUTPUT : PLAN_INPUT;

    if (shape->size == 1) {
        plan_add_copy(plan, whole_buffer_span(shape, own),
                      whole_buffer_span(shape, PLAN_OUTPUT));
        return;
    }

    const enum plan_buffer from = round == 0 ? own : PLAN_OUTPUT;
    const uint32_t block = ring_rank_before(shape, round + 1);

    plan_add_send(plan, ring_next(shape), round,
                  partition_block_span(shape, from, block));
    plan_add_receive(plan, shape, own, round);
}

const struct algorithm algorithm_allreduce_ring = {
    .name = "ring",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
};
