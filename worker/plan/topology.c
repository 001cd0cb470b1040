/* plan/topology.c - neighbours in rings and pairs, and how a buffer is cut */

#include "plan/topology.h"

#include <assert.h>

uint32_t
ring_next(const struct plan_shape *shape)
{
    return shape->rank + 1 == shape->size ? 0 : shape->rank + 1;
}

uint32_t
ring_prev(const struct plan_shape *shape)
{
    return shape->rank == 0 ? shape->size - 1 : shape->rank - 1;
}

uint32_t
ring_rank_before(const struct plan_shape *shape, uint32_t n_steps)
{
    const uint32_t back = n_steps % shape->size;

    return shape->rank >= back ? shape->rank - back
                               : shape->rank + (shape->size - back);
}

enum plan_operand_side
ring_operand_side(const struct plan_shape *shape)
{
    return shape->rank == 0 ? PLAN_OWN_IS_LEFT_OPERAND
                            : PLAN_RECEIVED_IS_LEFT_OPERAND;
}

uint32_t
doubling_round_count(const struct plan_shape *shape)
{
    uint32_t count = 0;

    while (UINT64_C(1) << count < shape->size)
        count++;
    return count;
}

uint32_t
fold_level_count(const struct plan_shape *shape)
{
    uint32_t levels = 0;

    while (shape->size >> levels > 1)
        levels++;
    return levels;
}

/* The number of ranks that are in pairs: each surplus rank is idle and has an
 * active partner. */
static uint32_t
fold_paired_rank_count(const struct plan_shape *shape)
{
    return 2 * (shape->size - ((uint32_t)1 << fold_level_count(shape)));
}

bool
fold_is_active(const struct plan_shape *shape)
{
    return shape->rank >= fold_paired_rank_count(shape) || shape->rank % 2 == 0;
}

uint32_t
fold_partner(const struct plan_shape *shape)
{
    return shape->rank < fold_paired_rank_count(shape) ? shape->rank ^ 1
                                                       : shape->rank;
}

uint32_t
fold_exchange_peer(const struct plan_shape *shape, uint32_t level)
{
    assert(fold_is_active(shape));
    assert(level < fold_level_count(shape));

    const uint32_t paired = fold_paired_rank_count(shape);
    const uint32_t place =
        shape->rank < paired ? shape->rank / 2 : shape->rank - paired / 2;
    const uint32_t peer = place ^ ((uint32_t)1 << level);

    return peer < paired / 2 ? 2 * peer : peer + paired / 2;
}

struct plan_span
whole_buffer_span(const struct plan_shape *shape, enum plan_buffer buffer)
{
    return (struct plan_span){.buffer = buffer, .count = shape->count};
}

/* The first element of a block; for block == size, the end of the last. If
 * granules are left over, each of the first blocks gets one more. */
static size_t
partition_block_offset(const struct plan_shape *shape, uint32_t block)
{
    const size_t n_granules =
        shape->count / shape->granule + (shape->count % shape->granule != 0);
    const size_t each = n_granules / shape->size;
    const size_t rest = n_granules % shape->size;
    const size_t before = each * block + (block < rest ? block : rest);

    /* Only the last granule may be short, so nothing else can exceed count. */
    return before == n_granules ? shape->count : before * shape->granule;
}

struct plan_span
partition_block_span(const struct plan_shape *shape,
                     enum plan_buffer buffer,
                     uint32_t block)
{
    assert(block < shape->size);
    return partition_block_run_span(shape, buffer, block, 1);
}

struct plan_span
partition_block_run_span(const struct plan_shape *shape,
                         enum plan_buffer buffer,
                         uint32_t first,
                         uint32_t n_blocks)
{
    assert(shape->granule > 0);
    assert(first <= shape->size);
    assert(n_blocks <= shape->size - first);

    const size_t begin = partition_block_offset(shape, first);

    return (struct plan_span){
        .buffer = buffer,
        .first = begin,
        .count = partition_block_offset(shape, first + n_blocks) - begin,
    };
}

/* A planner keeps no state, so it sums the prefix each time: with a thousand
 * ranks that takes a tenth of a microsecond per step. */
static struct plan_span
block_span_by_counts(const size_t *counts,
                     enum plan_buffer buffer,
                     uint32_t block)
{
    struct plan_span span = {.buffer = buffer, .count = counts[block]};

    for (uint32_t i = 0; i < block; i++)
        span.first += counts[i];
    return span;
}

static struct plan_span
block_span_uniform(size_t count, enum plan_buffer buffer, uint32_t block)
{
    return (struct plan_span){
        .buffer = buffer, .first = block * count, .count = count};
}

struct plan_span
caller_block_span(const struct plan_shape *shape,
                  enum plan_buffer buffer,
                  uint32_t block)
{
    assert(block < shape->size);

    if (shape->counts)
        return block_span_by_counts(shape->counts, buffer, block);
    return block_span_uniform(shape->count, buffer, block);
}

struct plan_span
recv_block_span(const struct plan_shape *shape,
                enum plan_buffer buffer,
                uint32_t block)
{
    assert(block < shape->size);

    if (shape->recv_counts)
        return block_span_by_counts(shape->recv_counts, buffer, block);
    return block_span_uniform(shape->count, buffer, block);
}

struct plan_span
caller_block_run_span(const struct plan_shape *shape,
                      enum plan_buffer buffer,
                      uint32_t first,
                      uint32_t n_blocks)
{
    assert(first < shape->size);
    assert(n_blocks <= shape->size - first);

    if (n_blocks == 0)
        return (struct plan_span){.buffer = buffer};

    struct plan_span span = caller_block_span(shape, buffer, first);

    if (!shape->counts)
        span.count = n_blocks * shape->count;
    for (uint32_t i = 1; shape->counts && i < n_blocks; i++)
        span.count += shape->counts[first + i];
    return span;
}

size_t
caller_block_max_count(const struct plan_shape *shape)
{
    if (!shape->counts)
        return shape->count;

    size_t max = 0;

    for (uint32_t i = 0; i < shape->size; i++)
        max = shape->counts[i] > max ? shape->counts[i] : max;
    return max;
}
