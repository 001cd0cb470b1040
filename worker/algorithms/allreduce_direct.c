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
direct_part_element_count(const struct plan_shape *shape)
{
    const size_t row = shape->granule * shape->size;
    const size_t n_part = shm_plan_direct_part_size(shape, 1);

    return n_part < row ? n_part : n_part - n_part % row;
}

static uint32_t
direct_n_parts(const struct plan_shape *shape)
{
    return shm_plan_round_count(shape->count, direct_part_element_count(shape));
}

static uint32_t
direct_n_rounds(const struct plan_shape *shape)
{
    const uint32_t n = direct_n_parts(shape);

    return shape->size == 1 || n == 0 ? n : n + 2;
}

static struct plan_span
round_part_span(const struct plan_shape *shape,
                enum plan_buffer buffer,
                uint32_t part)
{
    return shm_plan_part_span(whole_buffer_span(shape, buffer),
                              direct_part_element_count(shape), part);
}

/* A rank's block of a part, in a buffer. */
static struct plan_span
direct_part_block_span(const struct plan_shape *shape,
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
direct_plan_add_part_combine(struct plan *plan,
                             const struct plan_shape *shape,
                             uint32_t part)
{
    const enum plan_buffer source = shm_plan_source_buffer(shape);
    const struct plan_span own =
        direct_part_block_span(shape, part, source, shape->rank);
    const struct plan_span to =
        direct_part_block_span(shape, part, PLAN_OUTPUT, shape->rank);

    if (!shape->is_in_place)
        plan_add_copy(plan, own, to);
    for (uint32_t i = 0; i + 1 < shape->size; i++)
        shm_plan_add_combine(
            plan, shape, i,
            own.first - round_part_span(shape, source, part).first, to);
}

static void
direct_plan_add_result_fetches(struct plan *plan,
                               const struct plan_shape *shape,
                               uint32_t part)
{
    for (uint32_t i = 0; i + 1 < shape->size; i++) {
        const uint32_t peer = shm_plan_next_peer(shape, i);
        const struct plan_span to =
            direct_part_block_span(shape, part, PLAN_OUTPUT, peer);

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
direct_plan_round(struct plan *plan,
                  const struct plan_shape *shape,
                  uint32_t round)
{
    assert(round < direct_n_rounds(shape));

    const uint32_t n = direct_n_parts(shape);
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
            direct_part_block_span(shape, round - 1, PLAN_OUTPUT, shape->rank));
    if (has_results)
        direct_plan_add_result_fetches(plan, shape, round - 1);
    if (round < n)
        direct_plan_add_part_combine(plan, shape, round);
}

const struct algorithm algorithm_allreduce_direct = {
    .name = "direct",
    .n_rounds = direct_n_rounds,
    .plan_round = direct_plan_round,
    .is_shm = true,
    .is_direct = true,
};

/*
 * All-reduce through the shared region, in one round.
 *
 * Each rank posts its contribution and combines what all ranks have posted,
 * in the order of the ranks and with the same brackets everywhere, so that
 * all have the same bits:
 *
 *     ((0 op 1) op 2) op 3 ...
 *
 * A rank takes its own contribution from its own buffer. In place, the
 * combination of the ranks before it overwrites that buffer; so from rank 2
 * on, a rank fetches its own contribution from its slot.
 *
 * A copy or a fetch comes right before the combination with its result: the
 * executor does both in one pass.
 *
 * Cost: one post and one wait per slot; each rank combines n times the
 * bytes.
 */

static uint32_t
flat_n_rounds(const struct plan_shape *shape)
{
    return shm_plan_round_count(shape->count, shm_plan_part_size(shape, 1));
}

/* Combine rank's contribution with what stands at to. */
static void
plan_add_combine_with_rank(struct plan *plan,
                           const struct plan_shape *shape,
                           uint32_t rank,
                           struct plan_step step)
{
    const bool is_own = rank == shape->rank && !shape->is_in_place;

    step.kind = is_own ? PLAN_COMBINE : PLAN_FETCH_REDUCE;
    step.peer = rank;
    step.side = PLAN_OWN_IS_LEFT_OPERAND;
    step.is_final = rank + 1 == shape->size;
    if (!is_own)
        step.from.first = 0;
    plan_add_step(plan, &step);
}

/* Combine ranks 0 and 1, if this rank is rank 1; otherwise only bring rank 0's
 * contribution. Returns the next rank to combine. */
static uint32_t
plan_add_first_combine(struct plan *plan,
                       const struct plan_shape *shape,
                       struct plan_span own,
                       struct plan_span to)
{
    if (shape->rank == 0) {
        if (!shape->is_in_place)
            plan_add_copy(plan, own, to);
        return 1;
    }
    if (shape->rank > 1) {
        plan_add_fetch(plan, 0, 0, to);
        return 1;
    }
    if (!shape->is_in_place)
        plan_add_copy(plan, own, to);
    plan_add_step(plan, &(struct plan_step){
                            .kind = PLAN_FETCH_REDUCE,
                            .peer = 0,
                            .from = {.count = to.count},
                            .to = to,
                            .side = PLAN_RECEIVED_IS_LEFT_OPERAND,
                            .is_final = shape->size == 2,
                        });
    return 2;
}

static void
shm_plan_round(struct plan *plan,
               const struct plan_shape *shape,
               uint32_t round)
{
    assert(round < flat_n_rounds(shape));

    const size_t n_part = shm_plan_part_size(shape, 1);
    const struct plan_span own = shm_plan_part_span(
        whole_buffer_span(shape, shm_plan_source_buffer(shape)), n_part, round);
    const struct plan_span to = shm_plan_part_span(
        whole_buffer_span(shape, PLAN_OUTPUT), n_part, round);

    if (shape->size > 1)
        plan_add_post(plan, own);
    for (uint32_t rank = plan_add_first_combine(plan, shape, own, to);
         rank < shape->size; rank++)
        plan_add_combine_with_rank(plan, shape, rank,
                                   (struct plan_step){.from = own, .to = to});
}

const struct algorithm algorithm_allreduce_flat = {
    .name = "flat",
    .n_rounds = flat_n_rounds,
    .plan_round = shm_plan_round,
    .is_shm = true,
};

/*
 * All-reduce through the shared region: every rank combines its block.
 *
 * The buffer is processed in parts that fit a slot, and each part is cut
 * into a block for every rank. A rank posts its contributions to the others'
 * blocks, combines their contributions to its own block, posts the result
 * and fetches the others' results:
 *
 *     round        0          1          2          3
 *     posted       part 0     part 1     part 2     result 2
 *                             result 0   result 1
 *     combined     part 0     part 1     part 2
 *     fetched                 result 0   result 1   result 2
 *
 * There is thus one wait per part. In a slot, the blocks are in order,
 * without the rank's own block; the result follows them.
 *
 * Cost: 2 posts and fetches of (n-1)/n of the bytes, and their combination.
 */

/* Equal blocks of whole granules if a slot is large enough. */
static size_t
flat_blocks_part_element_count(const struct plan_shape *shape)
{
    const size_t row = shape->granule * shape->size;

    if (shape->slot_capacity < row)
        return shm_plan_part_size(shape, 1);
    return shape->slot_capacity - shape->slot_capacity % row;
}

static uint32_t
flat_blocks_n_parts(const struct plan_shape *shape)
{
    return shm_plan_round_count(shape->count,
                                flat_blocks_part_element_count(shape));
}

static uint32_t
flat_blocks_n_rounds(const struct plan_shape *shape)
{
    const uint32_t n = flat_blocks_n_parts(shape);

    return shape->size == 1 || n == 0 ? n : n + 1;
}

/* The shape of the part as if it were the whole buffer. */
static struct plan_shape
part_shape(const struct plan_shape *shape, uint32_t part)
{
    struct plan_shape of_part = *shape;

    of_part.count =
        shm_plan_part_span(whole_buffer_span(shape, PLAN_OUTPUT),
                           flat_blocks_part_element_count(shape), part)
            .count;
    return of_part;
}

/* A rank's block of a part, in a buffer. */
static struct plan_span
flat_blocks_part_block_span(const struct plan_shape *shape,
                            uint32_t part,
                            enum plan_buffer buffer,
                            uint32_t rank)
{
    const struct plan_shape of_part = part_shape(shape, part);
    struct plan_span span = partition_block_span(&of_part, buffer, rank);

    span.first += flat_blocks_part_element_count(shape) * part;
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
plan_add_part_block_posts(struct plan *plan,
                          const struct plan_shape *shape,
                          uint32_t part)
{
    for (uint32_t rank = 0; rank < shape->size; rank++)
        if (rank != shape->rank)
            plan_add_post(
                plan, flat_blocks_part_block_span(
                          shape, part, shm_plan_source_buffer(shape), rank));
}

static void
flat_blocks_plan_add_part_combine(struct plan *plan,
                                  const struct plan_shape *shape,
                                  uint32_t part)
{
    const struct plan_shape of_part = part_shape(shape, part);
    const struct plan_span to =
        flat_blocks_part_block_span(shape, part, PLAN_OUTPUT, shape->rank);

    if (!shape->is_in_place)
        plan_add_copy(
            plan,
            flat_blocks_part_block_span(shape, part, PLAN_INPUT, shape->rank),
            to);
    for (uint32_t i = 0; i + 1 < shape->size; i++) {
        const uint32_t peer = shm_plan_nearest_peer(shape, i);

        shm_plan_add_combine(plan, shape, i,
                             posted_block_offset(&of_part, peer, shape->rank),
                             to);
    }
}

/* The results follow the blocks of part + 1, which may be empty. */
static void
flat_blocks_plan_add_result_fetches(struct plan *plan,
                                    const struct plan_shape *shape,
                                    uint32_t part)
{
    const struct plan_shape behind = part_shape(shape, part + 1);

    for (uint32_t i = 0; i + 1 < shape->size; i++) {
        const uint32_t peer = shm_plan_next_peer(shape, i);
        const size_t first =
            behind.count -
            partition_block_span(&behind, PLAN_OUTPUT, peer).count;

        plan_add_fetch(
            plan, peer, first,
            flat_blocks_part_block_span(shape, part, PLAN_OUTPUT, peer));
    }
}

static void
flat_blocks_plan_round(struct plan *plan,
                       const struct plan_shape *shape,
                       uint32_t round)
{
    assert(round < flat_blocks_n_rounds(shape));

    const bool has_part = round < flat_blocks_n_parts(shape);
    const bool has_results = round > 0 && shape->size > 1;

    if (has_part)
        plan_add_part_block_posts(plan, shape, round);
    if (has_results)
        plan_add_post(plan, flat_blocks_part_block_span(
                                shape, round - 1, PLAN_OUTPUT, shape->rank));
    if (has_part)
        flat_blocks_plan_add_part_combine(plan, shape, round);
    if (has_results)
        flat_blocks_plan_add_result_fetches(plan, shape, round - 1);
}

const struct algorithm algorithm_allreduce_flat_blocks = {
    .name = "flat_blocks",
    .n_rounds = flat_blocks_n_rounds,
    .plan_round = flat_blocks_plan_round,
    .is_shm = true,
};
