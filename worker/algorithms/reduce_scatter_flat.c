/*
 * algorithms/reduce_scatter_flat.c - reduce-scatter: each rank combines its block
 *
 * A round moves a part of every block: a rank posts its parts of the other
 * ranks' blocks, in order, and combines what they have posted for its own block
 * with its own contribution.
 *
 * In place the result begins where the first block stands. With even blocks
 * that does no harm: a part of the first block has been posted when the same
 * part of the result overwrites it. With uneven blocks, the result could
 * overwrite elements that are still to be posted, so it is computed in scratch.
 *
 * Cost: posts and combinations of n-1 blocks; one wait per slot.
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

static bool
needs_scratch(const struct plan_shape *shape)
{
    return shape->is_in_place && shape->counts && shape->size > 1;
}

static size_t
n_scratch(const struct plan_shape *shape)
{
    return needs_scratch(shape) ? shape->counts[shape->rank] : 0;
}

/* If scratch is used, the last round copies the result to the output. */
static uint32_t
n_rounds(const struct plan_shape *shape)
{
    const uint32_t n = shm_plan_round_count(caller_block_max_count(shape),
                                            part_element_count(shape));

    return n > 0 && needs_scratch(shape) ? n + 1 : n;
}

static struct plan_span
round_part_span(const struct plan_shape *shape, uint32_t rank, uint32_t round)
{
    return shm_plan_part_span(
        caller_block_span(shape, shm_plan_source_buffer(shape), rank),
        part_element_count(shape), round);
}

/* This rank's block in the buffer where it is computed. */
static struct plan_span
result_block_span(const struct plan_shape *shape)
{
    return (struct plan_span){
        .buffer = needs_scratch(shape) ? PLAN_SCRATCH : PLAN_OUTPUT,
        .count = caller_block_span(shape, PLAN_OUTPUT, shape->rank).count,
    };
}

/* The elements that are posted for the ranks before this one. */
static size_t
own_block_slot_offset(const struct plan_shape *shape, uint32_t round)
{
    size_t before = 0;

    for (uint32_t rank = 0; rank < shape->rank; rank++)
        before += round_part_span(shape, rank, round).count;
    return before;
}

static void
plan_add_part_combine(struct plan *plan,
                      const struct plan_shape *shape,
                      uint32_t round)
{
    const size_t before = own_block_slot_offset(shape, round);
    const struct plan_span own = round_part_span(shape, shape->rank, round);
    const struct plan_span to = shm_plan_part_span(
        result_block_span(shape), part_element_count(shape), round);

    if (own.buffer != to.buffer || own.first != to.first)
        plan_add_copy(plan, own, to);
    for (uint32_t i = 0; i + 1 < shape->size; i++) {
        const uint32_t peer = shm_plan_nearest_peer(shape, i);
        const size_t missing =
            peer < shape->rank ? round_part_span(shape, peer, round).count : 0;

        shm_plan_add_combine(plan, shape, i, before - missing, to);
    }
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    if (needs_scratch(shape) && round + 1 == n_rounds(shape)) {
        struct plan_span place = result_block_span(shape);

        place.buffer = PLAN_OUTPUT;
        plan_add_copy(plan, result_block_span(shape), place);
        return;
    }
    for (uint32_t rank = 0; rank < shape->size; rank++)
        if (rank != shape->rank)
            plan_add_post(plan, round_part_span(shape, rank, round));
    /* A rank that receives nothing waits here; it would otherwise finish before
     * the others have said what they called. */
    if (round == 0 && result_block_span(shape).count == 0)
        shm_plan_add_await_all(plan, shape);
    plan_add_part_combine(plan, shape, round);
}

const struct algorithm algorithm_reduce_scatter_flat = {
    .name = "flat",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
    .is_shm = true,
};
