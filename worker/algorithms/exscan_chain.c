/*
 * algorithms/exscan_chain.c - exclusive scan along the ranks
 *
 * Like scan_chain.c, but what arrives is the result, and what is sent on, the
 * result combined with the rank's own contribution, is not part of any output:
 * it is computed in scratch. The contribution is copied there first, so that in
 * place the result does not overwrite it. Rank 0 only sends, the last rank only
 * receives.
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
    return 4;
}

static bool
is_last_in_chain(const struct plan_shape *shape)
{
    return shape->rank + 1 == shape->size;
}

static bool
is_middle_rank(const struct plan_shape *shape)
{
    return shape->rank > 0 && !is_last_in_chain(shape);
}

static size_t
n_scratch(const struct plan_shape *shape)
{
    return is_middle_rank(shape) ? shape->count : 0;
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    const enum plan_buffer own_buffer =
        shape->is_in_place ? PLAN_OUTPUT : PLAN_INPUT;
    const struct plan_span own = whole_buffer_span(shape, own_buffer);
    const struct plan_span result = whole_buffer_span(shape, PLAN_OUTPUT);
    const struct plan_span sum = whole_buffer_span(shape, PLAN_SCRATCH);

    if (round == 0 && is_middle_rank(shape))
        plan_add_copy(plan, own, sum);
    if (round == 1 && shape->rank > 0)
        plan_add_store(plan, shape->rank - 1, 0, result);
    if (round == 2 && is_middle_rank(shape))
        plan_add_step(plan, &(struct plan_step){
                                .kind = PLAN_COMBINE,
                                .from = result,
                                .to = sum,
                                .side = PLAN_RECEIVED_IS_LEFT_OPERAND,
                            });
    if (round == 3 && !is_last_in_chain(shape))
        plan_add_send(plan, shape->rank + 1, 0, shape->rank == 0 ? own : sum);
}

const struct algorithm algorithm_exscan_chain = {
    .name = "chain",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
