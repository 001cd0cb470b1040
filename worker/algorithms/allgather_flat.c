/*
 * algorithms/allgather_flat.c - all-gather through the shared region
 *
 * Each rank posts its block and fetches the others'. Blocks larger than a slot
 * go in parts; each round moves a part of every block.
 *
 * Cost: a post of one block, n-1 fetches, and one wait per slot.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "algorithms/shm_plan.h"
#include "plan/topology.h"

static uint32_t
n_rounds(const struct plan_shape *shape)
{
    return shm_plan_round_count(caller_block_max_count(shape),
                                shm_plan_part_size(shape, 1));
}

static struct plan_span
round_part_span(const struct plan_shape *shape, uint32_t rank, uint32_t round)
{
    return shm_plan_part_span(caller_block_span(shape, PLAN_OUTPUT, rank),
                              shm_plan_part_size(shape, 1), round);
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    const struct plan_span place = round_part_span(shape, shape->rank, round);
    struct plan_span own = place;

    if (!shape->is_in_place) {
        own.buffer = PLAN_INPUT;
        own.first -= caller_block_span(shape, PLAN_OUTPUT, shape->rank).first;
    }
    if (shape->size > 1)
        plan_add_post(plan, own);
    if (!shape->is_in_place)
        plan_add_copy(plan, own, place);
    for (uint32_t i = 0; i + 1 < shape->size; i++) {
        const uint32_t peer = shm_plan_next_peer(shape, i);

        plan_add_fetch(plan, peer, 0, round_part_span(shape, peer, round));
    }
}

const struct algorithm algorithm_allgather_flat = {
    .name = "flat",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .is_shm = true,
};
