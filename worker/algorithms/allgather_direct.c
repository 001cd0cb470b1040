/*
 * algorithms/allgather_direct.c - all-gather: every rank reads the others' blocks
 *
 * Each rank exposes its block, and the others read it in place:
 *
 *     round      0       1      ...    last
 *     read       part 0  part 1        nothing: wait for all ranks
 *
 * Cost: a copy of n-1 blocks, and two waits. No rank copies its own block for
 * others.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "algorithms/shm_plan.h"
#include "plan/topology.h"

static uint32_t
n_parts(const struct plan_shape *shape)
{
    return shm_plan_round_count(caller_block_max_count(shape),
                                shm_plan_direct_part_size(shape, 1));
}

static uint32_t
direct_n_rounds(const struct plan_shape *shape)
{
    return shm_plan_direct_round_count(shape, n_parts(shape));
}

/* Each rank offers a part of its block and fetches the others' parts. */
static void
plan_add_part(struct plan *plan,
              const struct plan_shape *shape,
              size_t n_part,
              uint32_t round,
              enum shm_plan_offer offer)
{
    const struct plan_span block =
        caller_block_span(shape, PLAN_OUTPUT, shape->rank);
    const struct plan_span place = shm_plan_part_span(block, n_part, round);
    struct plan_span own = place;

    if (!shape->is_in_place) {
        own.buffer = PLAN_INPUT;
        own.first -= block.first;
    }
    if (shape->size > 1)
        shm_plan_add_offer(plan, offer, own);
    if (!shape->is_in_place)
        plan_add_copy(plan, own, place);
    for (uint32_t i = 0; i + 1 < shape->size; i++) {
        const uint32_t peer = shm_plan_next_peer(shape, i);

        plan_add_fetch(
            plan, peer, 0,
            shm_plan_part_span(caller_block_span(shape, PLAN_OUTPUT, peer),
                               n_part, round));
    }
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
    else
        shm_plan_add_await_all(plan, shape);
}

const struct algorithm algorithm_allgather_direct = {
    .name = "direct",
    .n_rounds = direct_n_rounds,
    .plan_round = direct_plan_round,
    .is_shm = true,
    .is_direct = true,
};

/*
 * All-gather through the shared region.
 *
 * Each rank posts its block and fetches the others'. Blocks larger than a
 * slot go in parts; each round moves a part of every block.
 *
 * Cost: a post of one block, n-1 fetches, and one wait per slot.
 */

static uint32_t
flat_n_rounds(const struct plan_shape *shape)
{
    return shm_plan_round_count(caller_block_max_count(shape),
                                shm_plan_part_size(shape, 1));
}

static void
shm_plan_round(struct plan *plan,
               const struct plan_shape *shape,
               uint32_t round)
{
    assert(round < flat_n_rounds(shape));

    plan_add_part(plan, shape, shm_plan_part_size(shape, 1), round,
                  SHM_PLAN_POST);
}

const struct algorithm algorithm_allgather_flat = {
    .name = "flat",
    .n_rounds = flat_n_rounds,
    .plan_round = shm_plan_round,
    .is_shm = true,
};
