/*
 * plan/reduce_scatter_flat.c - reduce-scatter: each rank combines its block
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

#include "plan/algorithms.h"
#include "plan/shm_plan.h"
#include "plan/topology.h"

static size_t
part_count(const struct plan_shape *shape)
{
    return shm_plan_count(shape, shape->size > 1 ? shape->size - 1 : 1);
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
    const uint32_t n =
        shm_plan_rounds(block_given_max(shape), part_count(shape));

    return n > 0 && needs_scratch(shape) ? n + 1 : n;
}

static struct plan_span
part_of(const struct plan_shape *shape, uint32_t rank, uint32_t round)
{
    return shm_plan_part(block_given(shape, shm_plan_source(shape), rank),
                         part_count(shape), round);
}

/* This rank's block in the buffer where it is computed. */
static struct plan_span
result_of(const struct plan_shape *shape)
{
    return (struct plan_span){
        .buffer = needs_scratch(shape) ? PLAN_SCRATCH : PLAN_OUTPUT,
        .count = block_given(shape, PLAN_OUTPUT, shape->rank).count,
    };
}

/* The elements that are posted for the ranks before this one. */
static size_t
posted_before(const struct plan_shape *shape, uint32_t round)
{
    size_t before = 0;

    for (uint32_t rank = 0; rank < shape->rank; rank++)
        before += part_of(shape, rank, round).count;
    return before;
}

static void
combine_part(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    const size_t before = posted_before(shape, round);
    const struct plan_span own = part_of(shape, shape->rank, round);
    const struct plan_span to =
        shm_plan_part(result_of(shape), part_count(shape), round);

    if (own.buffer != to.buffer || own.first != to.first)
        plan_copy(plan, own, to);
    for (uint32_t i = 0; i + 1 < shape->size; i++) {
        const uint32_t peer = shm_plan_nearest(shape, i);
        const size_t missing =
            peer < shape->rank ? part_of(shape, peer, round).count : 0;

        shm_plan_combine(plan, shape, i, before - missing, to);
    }
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    if (needs_scratch(shape) && round + 1 == n_rounds(shape)) {
        struct plan_span place = result_of(shape);

        place.buffer = PLAN_OUTPUT;
        plan_copy(plan, result_of(shape), place);
        return;
    }
    for (uint32_t rank = 0; rank < shape->size; rank++)
        if (rank != shape->rank)
            plan_post(plan, part_of(shape, rank, round));
    /* A rank that receives nothing waits here; it would otherwise finish before
     * the others have said what they called. */
    if (round == 0 && result_of(shape).count == 0)
        shm_plan_await(plan, shape);
    combine_part(plan, shape, round);
}

const struct algorithm algorithm_reduce_scatter_flat = {
    .name = "flat",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
    .is_shm = true,
};
