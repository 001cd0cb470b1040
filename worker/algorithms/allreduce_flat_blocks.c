/*
 * algorithms/allreduce_flat_blocks.c - all-reduce: every rank combines its block
 *
 * The buffer is processed in parts that fit a slot, and each part is cut into a
 * block for every rank. A rank posts its contributions to the others' blocks,
 * combines their contributions to its own block, posts the result and fetches
 * the others' results:
 *
 *     round        0          1          2          3
 *     posted       part 0     part 1     part 2     result 2
 *                             result 0   result 1
 *     combined     part 0     part 1     part 2
 *     fetched                 result 0   result 1   result 2
 *
 * There is thus one wait per part. In a slot, the blocks are in order, without
 * the rank's own block; the result follows them.
 *
 * Cost: 2 posts and fetches of (n-1)/n of the bytes, and their combination.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "algorithms/shm_plan.h"
#include "plan/topology.h"

/* Equal blocks of whole granules if a slot is large enough. */
static size_t
part_element_count(const struct plan_shape *shape)
{
    const size_t row = shape->granule * shape->size;

    if (shape->n_slot < row)
        return shm_plan_part_size(shape, 1);
    return shape->n_slot - shape->n_slot % row;
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

    return shape->size == 1 || n == 0 ? n : n + 1;
}

/* The shape of the part as if it were the whole buffer. */
static struct plan_shape
part_shape(const struct plan_shape *shape, uint32_t part)
{
    struct plan_shape of_part = *shape;

    of_part.count = shm_plan_part_span(whole_buffer_span(shape, PLAN_OUTPUT),
                                       part_element_count(shape), part)
                        .count;
    return of_part;
}

/* A rank's block of a part, in a buffer. */
static struct plan_span
part_block_span(const struct plan_shape *shape,
                uint32_t part,
                enum plan_buffer buffer,
                uint32_t rank)
{
    const struct plan_shape of_part = part_shape(shape, part);
    struct plan_span span = partition_block_span(&of_part, buffer, rank);

    span.first += part_element_count(shape) * part;
    return span;
}

/* Where the contribution to rank's block stands in peer's slot. */
static size_t
posted_block_offset(const struct plan_shape *of_part,
                    uint32_t peer,
                    uint32_t rank)
{
    const size_t first = partition_block_span(of_part, PLAN_OUTPUT, rank).first;

    if (peer > rank)
        return first;
    return first - partition_block_span(of_part, PLAN_OUTPUT, peer).count;
}

static void
plan_add_part_posts(struct plan *plan,
                    const struct plan_shape *shape,
                    uint32_t part)
{
    for (uint32_t rank = 0; rank < shape->size; rank++)
        if (rank != shape->rank)
            plan_add_post(plan,
                          part_block_span(shape, part,
                                          shm_plan_source_buffer(shape), rank));
}

static void
plan_add_part_combine(struct plan *plan,
                      const struct plan_shape *shape,
                      uint32_t part)
{
    const struct plan_shape of_part = part_shape(shape, part);
    const struct plan_span to =
        part_block_span(shape, part, PLAN_OUTPUT, shape->rank);

    if (!shape->is_in_place)
        plan_add_copy(
            plan, part_block_span(shape, part, PLAN_INPUT, shape->rank), to);
    for (uint32_t i = 0; i + 1 < shape->size; i++) {
        const uint32_t peer = shm_plan_nearest_peer(shape, i);

        shm_plan_add_combine(plan, shape, i,
                             posted_block_offset(&of_part, peer, shape->rank),
                             to);
    }
}

/* The results follow the blocks of part + 1, which may be empty. */
static void
plan_add_result_fetches(struct plan *plan,
                        const struct plan_shape *shape,
                        uint32_t part)
{
    const struct plan_shape behind = part_shape(shape, part + 1);

    for (uint32_t i = 0; i + 1 < shape->size; i++) {
        const uint32_t peer = shm_plan_next_peer(shape, i);
        const size_t first =
            behind.count -
            partition_block_span(&behind, PLAN_OUTPUT, peer).count;

        plan_add_fetch(plan, peer, first,
                       part_block_span(shape, part, PLAN_OUTPUT, peer));
    }
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    const bool has_part = round < n_parts(shape);
    const bool has_results = round > 0 && shape->size > 1;

    if (has_part)
        plan_add_part_posts(plan, shape, round);
    if (has_results)
        plan_add_post(
            plan, part_block_span(shape, round - 1, PLAN_OUTPUT, shape->rank));
    if (has_part)
        plan_add_part_combine(plan, shape, round);
    if (has_results)
        plan_add_result_fetches(plan, shape, round - 1);
}

const struct algorithm algorithm_allreduce_flat_blocks = {
    .name = "flat_blocks",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .is_shm = true,
};
