/*
 * algorithms/reduce_scatter_direct.c - reduce-scatter: each rank reads its
 * block
 *
 * All ranks expose their input; each combines its own block, a part in every
 * round. In place, the result belongs where other ranks may still read: it is
 * computed in scratch and copied in the last round, after all ranks have
 * published it.
 *
 * Cost: n-1 reads and combinations of a block; two waits.
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

static bool
direct_needs_scratch(const struct plan_shape *shape)
{
    return shape->is_in_place && shape->size > 1;
}

/* This rank's block in the buffer where it is computed or belongs. */
static struct plan_span
result_block_in_buffer(const struct plan_shape *shape, enum plan_buffer buffer)
{
    return (struct plan_span){
        .buffer = buffer,
        .count = caller_block_span(shape, PLAN_OUTPUT, shape->rank).count,
    };
}

static size_t
direct_n_scratch(const struct plan_shape *shape)
{
    return direct_needs_scratch(shape)
               ? result_block_in_buffer(shape, PLAN_SCRATCH).count
               : 0;
}

static void
direct_plan_round(struct plan *plan,
                  const struct plan_shape *shape,
                  uint32_t round)
{
    assert(round < direct_n_rounds(shape));

    const size_t n_part = shm_plan_direct_part_size(shape, 1);
    const enum plan_buffer source = shm_plan_source_buffer(shape);
    const struct plan_span made = result_block_in_buffer(
        shape, direct_needs_scratch(shape) ? PLAN_SCRATCH : PLAN_OUTPUT);

    if (round == n_parts(shape)) {
        shm_plan_add_await_all(plan, shape);
        if (direct_needs_scratch(shape))
            plan_add_copy(plan, made,
                          result_block_in_buffer(shape, PLAN_OUTPUT));
        return;
    }
    const struct plan_span own = shm_plan_part_span(
        caller_block_span(shape, source, shape->rank), n_part, round);
    const struct plan_span to = shm_plan_part_span(made, n_part, round);

    if (shape->size > 1)
        plan_add_expose(plan, 0,
                        caller_block_run_span(shape, source, 0, shape->size));
    if (own.buffer != to.buffer || own.first != to.first)
        plan_add_copy(plan, own, to);
    for (uint32_t i = 0; i + 1 < shape->size; i++)
        shm_plan_add_combine(plan, shape, i, own.first, to);
}

const struct algorithm algorithm_reduce_scatter_direct = {
    .name = "direct",
    .n_rounds = direct_n_rounds,
    .plan_round = direct_plan_round,
    .n_scratch = direct_n_scratch,
    .is_shm = true,
    .is_direct = true,
};

/*
 * Reduce-scatter: each rank combines its block.
 *
 * A round moves a part of every block: a rank posts its parts of the other
 * ranks' blocks, in order, and combines what they have posted for its own
 * block with its own contribution.
 *
 * In place the result begins where the first block stands. With even blocks
 * that does no harm: a part of the first block has been posted when the same
 * part of the result overwrites it. With uneven blocks, the result could
 * overwrite elements that are still to be posted, so it is computed in
 * scratch.
 *
 * Cost: posts and combinations of n-1 blocks; one wait per slot.
 */

static size_t
part_element_count(const struct plan_shape *shape)
{
    return shm_plan_part_size(shape, shape->size > 1 ? shape->size - 1 : 1);
}

static bool
flat_needs_scratch(const struct plan_shape *shape)
{
    return shape->is_in_place && shape->counts && shape->size > 1;
}

static size_t
flat_n_scratch(const struct plan_shape *shape)
{
    return flat_needs_scratch(shape) ? shape->counts[shape->rank] : 0;
}

/* If scratch is used, the last round copies the result to the output. */
static uint32_t
flat_n_rounds(const struct plan_shape *shape)
{
    const uint32_t n = shm_plan_round_count(caller_block_max_count(shape),
                                            part_element_count(shape));

    return n > 0 && flat_needs_scratch(shape) ? n + 1 : n;
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
        .buffer = flat_needs_scratch(shape) ? PLAN_SCRATCH : PLAN_OUTPUT,
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
shm_plan_round(struct plan *plan,
               const struct plan_shape *shape,
               uint32_t round)
{
    assert(round < flat_n_rounds(shape));

    if (flat_needs_scratch(shape) && round + 1 == flat_n_rounds(shape)) {
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
    .n_rounds = flat_n_rounds,
    .plan_round = shm_plan_round,
    .n_scratch = flat_n_scratch,
    .is_shm = true,
};
