/*
 * algorithms/barrier_flat.c - barrier: all ranks publish an empty slot and
 * await it
 *
 * Cost: one cache line per rank.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "algorithms/shm_plan.h"

static uint32_t
n_rounds(const struct plan_shape *shape)
{
    return shape->size > 1 ? 1 : 0;
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    shm_plan_add_await_all(plan, shape);
}

const struct algorithm algorithm_barrier_flat = {
    .name = "flat",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .is_shm = true,
};
