/*
 * algorithms/reduce_flat.c - reduce: the other ranks post, the root combines
 *
 * Cost: a post on all ranks but the root, then n-1 combinations at the root.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "algorithms/shm_plan.h"
#include "plan/topology.h"

static size_t
part_element_count(const struct plan_shape *shape)
{
    return shm_plan_part_size(shape, shape->n_slot > 1 ? 2 : 1);
}

static uint32_t
n_rounds(const struct plan_shape *shape)
{
    return shm_plan_round_count(shape->count, part_element_count(shape));
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(shape->root < shape->size);
    assert(round < n_rounds(shape));

    const size_t n_part = part_element_count(shape);
    const struct plan_span own = shm_plan_part_span(
        whole_buffer_span(shape, shm_plan_source_buffer(shape)), n_part, round);
    const struct plan_span to = shm_plan_part_span(
        whole_buffer_span(shape, PLAN_OUTPUT), n_part, round);

    if (shape->rank != shape->root) {
        plan_add_post(plan, own);
        return;
    }
    if (!shape->is_in_place)
        plan_add_copy(plan, own, to);
    for (uint32_t i = 0; i + 1 < shape->size; i++)
        shm_plan_add_combine(plan, shape, i, 0, to);
}

const struct algorithm algorithm_reduce_flat = {
    .name = "flat",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .is_shm = true,
};
