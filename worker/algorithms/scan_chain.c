/*
 * algorithms/scan_chain.c - scan along the ranks, from the first to the last
 *
 *     0 -> 1 -> ... -> n-1
 *
 * Each rank receives the result of the rank before it, combines its own
 * elements on the right, which gives its result, and sends that on; the engine
 * forwards bytes as they arrive. Operands are always in the order of the ranks.
 *
 * No step of a scan is final: an average of the first ranks would need another
 * divisor on each rank.
 *
 * Cost: (n-1) * alpha + bytes * (beta + gamma), plus the time to fill the
 * chain.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "plan/topology.h"

static uint32_t
n_rounds(const struct plan_shape *shape)
{
    (void)shape;
    return 2;
}

static void
plan_add_result(struct plan *plan,
                const struct plan_shape *shape,
                struct plan_span own)
{
    const struct plan_span output = whole_buffer_span(shape, PLAN_OUTPUT);

    if (shape->rank > 0)
        plan_add_step(plan, &(struct plan_step){
                                .kind = PLAN_REDUCE,
                                .peer = shape->rank - 1,
                                .from = own,
                                .to = output,
                                .side = PLAN_RECEIVED_IS_LEFT_OPERAND,
                            });
    else if (!shape->is_in_place)
        plan_add_copy(plan, own, output);
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    const enum plan_buffer own_buffer =
        shape->is_in_place ? PLAN_OUTPUT : PLAN_INPUT;
    const struct plan_span own = whole_buffer_span(shape, own_buffer);

    if (round == 0)
        plan_add_result(plan, shape, own);
    else if (shape->rank + 1 < shape->size)
        plan_add_send(plan, shape->rank + 1, 0,
                      shape->rank == 0 ? own
                                       : whole_buffer_span(shape, PLAN_OUTPUT));
}

const struct algorithm algorithm_scan_chain = {
    .name = "chain",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
};
