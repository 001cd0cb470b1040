/*
 * algorithms/reduce_scatter_direct.c - reduce-scatter: each rank reads its block
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
n_rounds(const struct plan_shape *shape)
{
    return shm_plan_direct_round_count(shape, n_parts(shape));
}

static bool
needs_scratch(const struct plan_shape *shape)
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
n_scratch(const struct plan_shape *shape)
{
    return needs_scratch(shape)
               ? result_block_in_buffer(shape, PLAN_SCRATCH).count
               : 0;
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    const size_t n_part = shm_plan_direct_part_size(shape, 1);
    const enum plan_buffer source = shm_plan_source_buffer(shape);
    const struct plan_span made = result_block_in_buffer(
        shape, needs_scratch(shape) ? PLAN_SCRATCH : PLAN_OUTPUT);

    if (round == n_parts(shape)) {
        shm_plan_add_await_all(plan, shape);
        if (needs_scratch(shape))
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
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
    .is_shm = true,
    .is_direct = true,
};
