/*
 * algorithms/allreduce_pairwise.c - all-reduce straight to the owners, and back
 *
 * Rank r owns block r. First each rank sends every block to its owner, which
 * combines them as algorithms/reduce_scatter_pairwise.c does:
 *
 *     ((0 (1 ... (r-1 r))) n-1) n-2 ... r+1
 *
 * Then every owner sends its result to all ranks. Nothing is forwarded: a
 * message holds what its sender was given, or what it finished. If the wire
 * format loses precision, each number therefore loses some twice, however many
 * ranks there are, and the rank that lost it knows how much. That is the
 * purpose of this algorithm. If nothing is lost, the ring moves as many bytes
 * over fewer connections, and the model never chooses this algorithm.
 *
 * Each block is finished on one rank, so all ranks get the same bits. In place,
 * a block is overwritten only after it has been sent.
 *
 * Cost: 2(n-1) * (alpha + bytes/n * beta).
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "plan/topology.h"

enum {
    MESSAGE_CONTRIBUTION,
    MESSAGE_RESULT,
};

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
    const uint32_t peer = ring_rank_before(shape, round + 1);
    const struct plan_span made =
        partition_block_span(shape, PLAN_OUTPUT, shape->rank);
    const struct plan_span given = {own, made.first, made.count};

    plan_add_step(plan,
                  &(struct plan_step){
                      .kind = PLAN_REDUCE,
                      .peer = peer,
                      .message = MESSAGE_CONTRIBUTION,
                      .from = round == 0 ? given : made,
                      .to = made,
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

    if (shape->size == 1) {
        plan_add_copy(plan, whole_buffer_span(shape, own),
                      whole_buffer_span(shape, PLAN_OUTPUT));
        return;
    }

    const uint32_t apart = round % (shape->size - 1) + 1;
    const uint32_t from = ring_rank_before(shape, apart);
    const uint32_t to = ring_rank_before(shape, shape->size - apart);

    if (round + 1 < shape->size) {
        plan_add_send(plan, to, MESSAGE_CONTRIBUTION,
                      partition_block_span(shape, own, to));
        plan_add_receive(plan, shape, own, round);
    } else {
        plan_add_send(plan, to, MESSAGE_RESULT,
                      partition_block_span(shape, PLAN_OUTPUT, shape->rank));
        plan_add_store(plan, from, MESSAGE_RESULT,
                       partition_block_span(shape, PLAN_OUTPUT, from));
    }
}

const struct algorithm algorithm_allreduce_pairwise = {
    .name = "pairwise",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
};
