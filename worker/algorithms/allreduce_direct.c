/*
 * algorithms/allreduce_direct.c - all-reduce: every rank reads and combines its block
 *
 * The buffer is processed in parts, and each part is cut into a block for every
 * rank. A rank reads the others' contributions to its block from their buffers,
 * and then the results that they have computed for their blocks:
 *
 *     round        0          1          2          last
 *     combined     part 0     part 1
 *     read                    result 0   result 1   nothing: wait for all ranks
 *
 * In place, a result overwrites a block that its owner had finished reading
 * before it published the round in which it exposes the result.
 *
 * Cost: reads of 2 (n-1)/n of the bytes, the combination of half of them, a
 * wait for each part and two more.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "algorithms/shm_plan.h"
#include "plan/topology.h"

enum {
    EXPOSED_CONTRIBUTION,
    EXPOSED_RESULT,
};

/* Equal blocks of whole granules if a part is long enough. */
static size_t
part_element_count(const struct plan_shape *shape)
{
    const size_t row = shape->granule * shape->size;
    const size_t n_part = shm_plan_direct_part_size(shape, 1);

    return n_part < row ? n_part : n_part - n_part % row;
}

static uint32_t
n_parts(const struct plan_shape *shape)
{
    return shm_plan_round_count(shape->count, part_element_count(shape));
}

static uint32_t
n_rounds(const struct plan_shape *shape)
{
    const uint32_t n = n_parts(shape);

    return shape->size == 1 || n == 0 ? n : n + 2;
}

static struct plan_span
round_part_span(const struct plan_shape *shape,
                enum plan_buffer buffer,
                uint32_t part)
{
    return shm_plan_part_span(whole_buffer_span(shape, buffer),
                              part_element_count(shape), part);
}

/* A rank's block of a part, in a buffer. */
static struct plan_span
part_block_span(const struct plan_shape *shape,
                uint32_t part,
                enum plan_buffer buffer,
                uint32_t rank)
{
    const struct plan_span whole = round_part_span(shape, buffer, part);
    struct plan_shape of_part = *shape;

    of_part.count = whole.count;
    struct plan_span span = partition_block_span(&of_part, buffer, rank);
    span.first += whole.first;
    return span;
}

static void
plan_add_part_combine(struct plan *plan,
                      const struct plan_shape *shape,
                      uint32_t part)
{
    const enum plan_buffer source = shm_plan_source_buffer(shape);
    const struct plan_span own =
        part_block_span(shape, part, source, shape->rank);
    const struct plan_span to =
        part_block_span(shape, part, PLAN_OUTPUT, shape->rank);

    if (!shape->is_in_place)
        plan_add_copy(plan, own, to);
    for (uint32_t i = 0; i + 1 < shape->size; i++)
        shm_plan_add_combine(
            plan, shape, i,
            own.first - round_part_span(shape, source, part).first, to);
}

static void
plan_add_result_fetches(struct plan *plan,
                        const struct plan_shape *shape,
                        uint32_t part)
{
    for (uint32_t i = 0; i + 1 < shape->size; i++) {
        const uint32_t peer = shm_plan_next_peer(shape, i);
        const struct plan_span to =
            part_block_span(shape, part, PLAN_OUTPUT, peer);

        plan_add_step(plan, &(struct plan_step){
                                .kind = PLAN_FETCH,
                                .peer = peer,
                                .message = EXPOSED_RESULT,
                                .from = {.count = to.count},
                                .to = to,
                            });
    }
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    const uint32_t n = n_parts(shape);
    const bool has_results = round > 0 && round <= n && shape->size > 1;

    if (round > n) {
        shm_plan_add_await_all(plan, shape);
        return;
    }
    if (round < n && shape->size > 1)
        plan_add_expose(
            plan, EXPOSED_CONTRIBUTION,
            round_part_span(shape, shm_plan_source_buffer(shape), round));
    if (has_results)
        plan_add_expose(
            plan, EXPOSED_RESULT,
            part_block_span(shape, round - 1, PLAN_OUTPUT, shape->rank));
    if (has_results)
        plan_add_result_fetches(plan, shape, round - 1);
    if (round < n)
        plan_add_part_combine(plan, shape, round);
}

const struct algorithm algorithm_allreduce_direct = {
    .name = "direct",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .is_shm = true,
    .is_direct = true,
};
