/*
 * algorithms/alltoall_flat.c - all-to-all through the shared region
 *
 * A round moves a part of every block. A rank posts the parts for the other
 * ranks in order, then fetches what each has posted for it. In place, the part
 * from a rank overwrites the part that was posted for that rank just before.
 *
 * Blocks must be even, because all ranks must know the number of rounds.
 *
 * Cost: a post and a fetch of n-1 blocks; one wait per slot.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "algorithms/shm_plan.h"
#include "plan/topology.h"

static size_t
part_element_count(const struct plan_shape *shape)
{
    return shm_plan_part_size(shape, shape->size > 1 ? shape->size - 1 : 1);
}

static uint32_t
n_rounds(const struct plan_shape *shape)
{
    return shm_plan_round_count(shape->count, part_element_count(shape));
}

static struct plan_span
round_part_span(const struct plan_shape *shape,
                enum plan_buffer buffer,
                uint32_t rank,
                uint32_t round)
{
    return shm_plan_part_span(caller_block_span(shape, buffer, rank),
                              part_element_count(shape), round);
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(!shape->counts && !shape->recv_counts);
    assert(round < n_rounds(shape));

    const enum plan_buffer source = shm_plan_source_buffer(shape);

    for (uint32_t rank = 0; rank < shape->size; rank++)
        if (rank != shape->rank)
            plan_add_post(plan, round_part_span(shape, source, rank, round));
    if (!shape->is_in_place)
        plan_add_copy(plan,
                      round_part_span(shape, PLAN_INPUT, shape->rank, round),
                      round_part_span(shape, PLAN_OUTPUT, shape->rank, round));
    for (uint32_t i = 0; i + 1 < shape->size; i++) {
        const uint32_t peer = shm_plan_next_peer(shape, i);
        const struct plan_span to =
            round_part_span(shape, PLAN_OUTPUT, peer, round);
        const uint32_t n_before =
            peer < shape->rank ? shape->rank - 1 : shape->rank;

        plan_add_fetch(plan, peer, n_before * to.count, to);
    }
}

const struct algorithm algorithm_alltoall_flat = {
    .name = "flat",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .is_shm = true,
};
