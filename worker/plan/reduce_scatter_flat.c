/*
 * plan/reduce_scatter_flat.c - reduce-scatter: each combines its own block
 *
 * A round moves a part of every block: a rank posts its parts of the others'
 * blocks, in order, and combines what the others have posted for its own, to
 * which it brings what stands in its buffer.
 *
 * In place the result begins where the first block stands. Equal blocks do not
 * mind: a part of the first block has been posted when the result's takes its
 * place. Where they are not equal, the result could reach what is still to be
 * posted; so it is made in scratch.
 *
 * Cost: posts and combinations of n-1 blocks; one wait a slot.
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

/* In place, the last round brings what is in scratch to its place. */
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

/* This rank's block, where it is made. */
static struct plan_span
result_of(const struct plan_shape *shape)
{
    return (struct plan_span){
        .buffer = needs_scratch(shape) ? PLAN_SCRATCH : PLAN_OUTPUT,
        .count = block_given(shape, PLAN_OUTPUT, shape->rank).count,
    };
}

/* Elements of the parts for the ranks before this one. */
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
    /* Who gets nothing would be through before others have said what they
     * called. */
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
