/*
 * algorithms/barrier_dissemination.c - barrier in ceil(log2 n) rounds
 *
 * In round k every rank sends a message to the rank 2^k after it and receives
 * one from the rank 2^k before it. After round k it has heard, directly or
 * through others, from the 2^(k+1) - 1 ranks before it, so after the last round
 * from all.
 *
 * A message is one element: everything received so far, combined. Round k sends
 * element k of the scratch and combines what arrives into element k+1, so that
 * each message depends on every message received before it. If arrivals were
 * only stored, a message would depend on the previous round alone, and those of
 * earlier rounds could still be missing.
 *
 * Cost: ceil(log2 n) * alpha.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "plan/topology.h"

static size_t
n_scratch(const struct plan_shape *shape)
{
    return shape->size == 1 ? 0 : (size_t)doubling_round_count(shape) + 1;
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < doubling_round_count(shape));

    const uint32_t reach = (uint32_t)1 << round;
    const struct plan_span heard = {PLAN_SCRATCH, round, 1};

    plan_add_send(plan, ring_rank_before(shape, shape->size - reach), round,
                  heard);
    plan_add_step(plan, &(struct plan_step){
                            .kind = PLAN_REDUCE,
                            .peer = ring_rank_before(shape, reach),
                            .message = round,
                            .from = heard,
                            .to = {PLAN_SCRATCH, (size_t)round + 1, 1},
                        });
}

const struct algorithm algorithm_barrier_dissemination = {
    .name = "dissemination",
    .n_rounds = doubling_round_count,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
