/*
 * algorithms/broadcast_direct.c - broadcast: the other ranks read the root's
 * buffer
 *
 * Cost: a copy of all bytes, on all ranks but the root at the same time.
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

/* The root offers a part, the other ranks fetch it. */
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
        plan_add_fetch(plan, shape->root, 0, to);
        return;
    }
    if (shape->size > 1)
        shm_plan_add_offer(plan, offer, own);
    if (!shape->is_in_place)
        plan_add_copy(plan, own, to);
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
    else if (shape->rank == shape->root)
        shm_plan_add_await_all(plan, shape);
}

const struct algorithm algorithm_broadcast_direct = {
    .name = "direct",
    .n_rounds = direct_n_rounds,
    .plan_round = direct_plan_round,
    .is_shm = true,
    .is_direct = true,
};

/*
 * Broadcast: the root posts, the other ranks fetch.
 *
 * A buffer larger than half a slot goes in parts, so that the root posts one
 * part while the others fetch the previous one.
 *
 * Cost: a post at the root and a fetch on the other ranks, which overlap.
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

const struct algorithm algorithm_broadcast_flat = {
    .name = "flat",
    .n_rounds = flat_n_rounds,
    .plan_round = shm_plan_round,
    .is_shm = true,
};
