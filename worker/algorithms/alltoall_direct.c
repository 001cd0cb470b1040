/*
 * algorithms/alltoall_direct.c - all-to-all: every rank reads its blocks in
 * place
 *
 * Each rank exposes all its blocks, and each reads those for itself. A round
 * moves a part of every block; the last round only waits for all ranks. In
 * place, a block from another rank belongs where that rank is still reading: it
 * is kept in scratch until the last round copies it.
 *
 * Blocks must be even, because all ranks must know the number of rounds.
 *
 * Cost: a copy of n-1 blocks, or two copies in place; two waits.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "algorithms/shm_plan.h"
#include "plan/topology.h"

static size_t
direct_part_element_count(const struct plan_shape *shape)
{
    return shm_plan_direct_part_size(shape,
                                     shape->size > 1 ? shape->size - 1 : 1);
}

static uint32_t
n_parts(const struct plan_shape *shape)
{
    return shm_plan_round_count(shape->count, direct_part_element_count(shape));
}

static uint32_t
direct_n_rounds(const struct plan_shape *shape)
{
    return shm_plan_direct_round_count(shape, n_parts(shape));
}

/* In place, one block for each rank; the rank's own one is not used. */
static size_t
n_scratch(const struct plan_shape *shape)
{
    return shape->is_in_place && shape->size > 1 ? shape->size * shape->count
                                                 : 0;
}

static enum plan_buffer
arrival_buffer(const struct plan_shape *shape)
{
    return shape->is_in_place ? PLAN_SCRATCH : PLAN_OUTPUT;
}

static void
plan_add_last_round(struct plan *plan, const struct plan_shape *shape)
{
    shm_plan_add_await_all(plan, shape);
    for (uint32_t i = 0; shape->is_in_place && i + 1 < shape->size; i++) {
        const uint32_t peer = shm_plan_next_peer(shape, i);

        plan_add_copy(plan, caller_block_span(shape, PLAN_SCRATCH, peer),
                      caller_block_span(shape, PLAN_OUTPUT, peer));
    }
}

static struct plan_span
direct_round_part_span(const struct plan_shape *shape,
                       enum plan_buffer buffer,
                       uint32_t rank,
                       uint32_t round)
{
    return shm_plan_part_span(caller_block_span(shape, buffer, rank),
                              direct_part_element_count(shape), round);
}

static void
direct_plan_round(struct plan *plan,
                  const struct plan_shape *shape,
                  uint32_t round)
{
    assert(!shape->counts && !shape->recv_counts);
    assert(round < direct_n_rounds(shape));

    if (round == n_parts(shape)) {
        plan_add_last_round(plan, shape);
        return;
    }
    if (shape->size > 1)
        plan_add_expose(plan, 0,
                        caller_block_run_span(shape,
                                              shm_plan_source_buffer(shape), 0,
                                              shape->size));
    if (!shape->is_in_place)
        plan_add_copy(
            plan, direct_round_part_span(shape, PLAN_INPUT, shape->rank, round),
            direct_round_part_span(shape, PLAN_OUTPUT, shape->rank, round));
    for (uint32_t i = 0; i + 1 < shape->size; i++) {
        const uint32_t peer = shm_plan_next_peer(shape, i);

        plan_add_fetch(
            plan, peer,
            direct_round_part_span(shape, PLAN_INPUT, shape->rank, round).first,
            direct_round_part_span(shape, arrival_buffer(shape), peer, round));
    }
}

const struct algorithm algorithm_alltoall_direct = {
    .name = "direct",
    .n_rounds = direct_n_rounds,
    .plan_round = direct_plan_round,
    .n_scratch = n_scratch,
    .is_shm = true,
    .is_direct = true,
};

/*
 * All-to-all through the shared region.
 *
 * A round moves a part of every block. A rank posts the parts for the other
 * ranks in order, then fetches what each has posted for it. In place, the
 * part from a rank overwrites the part that was posted for that rank just
 * before.
 *
 * Blocks must be even, because all ranks must know the number of rounds.
 *
 * Cost: a post and a fetch of n-1 blocks; one wait per slot.
 */

static size_t
flat_part_element_count(const struct plan_shape *shape)
{
    return shm_plan_part_size(shape, shape->size > 1 ? shape->size - 1 : 1);
}

static uint32_t
flat_n_rounds(const struct plan_shape *shape)
{
    return shm_plan_round_count(shape->count, flat_part_element_count(shape));
}

static struct plan_span
flat_round_part_span(const struct plan_shape *shape,
                     enum plan_buffer buffer,
                     uint32_t rank,
                     uint32_t round)
{
    return shm_plan_part_span(caller_block_span(shape, buffer, rank),
                              flat_part_element_count(shape), round);
}

static void
shm_plan_round(struct plan *plan,
               const struct plan_shape *shape,
               uint32_t round)
{
    assert(!shape->counts && !shape->recv_counts);
    assert(round < flat_n_rounds(shape));

    const enum plan_buffer source = shm_plan_source_buffer(shape);

    for (uint32_t rank = 0; rank < shape->size; rank++)
        if (rank != shape->rank)
            plan_add_post(plan,
                          flat_round_part_span(shape, source, rank, round));
    if (!shape->is_in_place)
        plan_add_copy(
            plan, flat_round_part_span(shape, PLAN_INPUT, shape->rank, round),
            flat_round_part_span(shape, PLAN_OUTPUT, shape->rank, round));
    for (uint32_t i = 0; i + 1 < shape->size; i++) {
        const uint32_t peer = shm_plan_next_peer(shape, i);
        const struct plan_span to =
            flat_round_part_span(shape, PLAN_OUTPUT, peer, round);
        const uint32_t n_before =
            peer < shape->rank ? shape->rank - 1 : shape->rank;

        plan_add_fetch(plan, peer, n_before * to.count, to);
    }
}

const struct algorithm algorithm_alltoall_flat = {
    .name = "flat",
    .n_rounds = flat_n_rounds,
    .plan_round = shm_plan_round,
    .is_shm = true,
};
