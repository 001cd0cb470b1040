/*
 * algorithms/reduce_direct.c - reduce: the root reads the other ranks' buffers
 *
 * Cost: n-1 reads and combinations at the root, nothing on other ranks.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "algorithms/shm_plan.h"
#include "plan/topology.h"

static uint32_t
n_parts(const struct plan_shape *shape)
{
    return shm_plan_round_count(shape->count,
                                shm_plan_direct_part_size(shape, 1));
}

static uint32_t
direct_n_rounds(const struct plan_shape *shape)
{
    return shm_plan_direct_round_count(shape, n_parts(shape));
}

/* The other ranks offer a part, the root combines it. */
static void
plan_add_part(struct plan *plan,
              const struct plan_shape *shape,
              size_t n_part,
              uint32_t round,
              enum shm_plan_offer offer)
{
    const struct plan_span own = shm_plan_part_span(
        whole_buffer_span(shape, shm_plan_source_buffer(shape)), n_part, round);
    const struct plan_span to = shm_plan_part_span(
        whole_buffer_span(shape, PLAN_OUTPUT), n_part, round);

    assert(shape->root < shape->size);
    if (shape->rank != shape->root) {
        shm_plan_add_offer(plan, offer, own);
        return;
    }
    if (!shape->is_in_place)
        plan_add_copy(plan, own, to);
    for (uint32_t i = 0; i + 1 < shape->size; i++)
        shm_plan_add_combine(plan, shape, i, 0, to);
}

static void
direct_plan_round(struct plan *plan,
                  const struct plan_shape *shape,
                  uint32_t round)
{
    assert(round < direct_n_rounds(shape));

    if (round < n_parts(shape))
        plan_add_part(plan, shape, shm_plan_direct_part_size(shape, 1), round,
                      SHM_PLAN_EXPOSE);
    else if (shape->rank != shape->root)
        plan_add_await(plan, shape->root);
}

const struct algorithm algorithm_reduce_direct = {
    .name = "direct",
    .n_rounds = direct_n_rounds,
    .plan_round = direct_plan_round,
    .is_shm = true,
    .is_direct = true,
};

/*
 * Reduce: the other ranks post, the root combines.
 *
 * Cost: a post on all ranks but the root, then n-1 combinations at the root.
 */

static size_t
part_element_count(const struct plan_shape *shape)
{
    return shm_plan_part_size(shape, shape->slot_capacity > 1 ? 2 : 1);
}

static uint32_t
flat_n_rounds(const struct plan_shape *shape)
{
    return shm_plan_round_count(shape->count, part_element_count(shape));
}

static void
shm_plan_round(struct plan *plan,
               const struct plan_shape *shape,
               uint32_t round)
{
    assert(round < flat_n_rounds(shape));

    plan_add_part(plan, shape, part_element_count(shape), round, SHM_PLAN_POST);
}

const struct algorithm algorithm_reduce_flat = {
    .name = "flat",
    .n_rounds = flat_n_rounds,
    .plan_round = shm_plan_round,
    .is_shm = true,
};
