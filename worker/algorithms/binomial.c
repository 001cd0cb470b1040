/* algorithms/binomial.c - a tree of ceil(log2 n) levels, for any size and
 * any root */

#include "algorithms/binomial.h"

#include <assert.h>

#include "plan/topology.h"

uint32_t
binomial_tree_depth(const struct plan_shape *shape)
{
    uint32_t depth = 0;

    for (uint64_t width = 1; width < shape->size; width *= 2)
        depth++;
    return depth;
}

static bool
rank_range_contains(struct rank_range range, uint32_t rank)
{
    return range.first <= rank && rank < range.end;
}

/* The two halves of the rank's block. The upper half is empty if no ranks are
 * left for it. */
static void
rank_block_split(const struct plan_shape *shape,
                 uint32_t level,
                 struct rank_range *out_lower,
                 struct rank_range *out_upper)
{
    const uint64_t width = UINT64_C(1) << level;
    const uint64_t first = shape->rank - shape->rank % (2 * width);
    const uint64_t size = shape->size;
    const uint64_t middle = first + width < size ? first + width : size;
    const uint64_t end = middle + width < size ? middle + width : size;

    *out_lower = (struct rank_range){(uint32_t)first, (uint32_t)middle};
    *out_upper = (struct rank_range){(uint32_t)middle, (uint32_t)end};
}

static uint32_t
rank_range_representative(const struct plan_shape *shape,
                          struct rank_range range)
{
    return rank_range_contains(range, shape->root) ? shape->root : range.first;
}

struct binomial_edge
binomial_edge_at(const struct plan_shape *shape, uint32_t level)
{
    assert(shape->root < shape->size);

    struct rank_range near;
    struct rank_range far;

    rank_block_split(shape, level, &near, &far);
    if (far.first == far.end)
        return (struct binomial_edge){.end = BINOMIAL_NO_EDGE};
    if (rank_range_contains(far, shape->root)) {
        const struct rank_range lower = near;

        near = far;
        far = lower;
    }

    const uint32_t near_representative = rank_range_representative(shape, near);

    if (shape->rank == near_representative)
        return (struct binomial_edge){BINOMIAL_PARENT_SIDE, far.first, far};
    if (shape->rank == far.first)
        return (struct binomial_edge){BINOMIAL_CHILD_SIDE, near_representative,
                                      far};
    return (struct binomial_edge){.end = BINOMIAL_NO_EDGE};
}

struct rank_range
binomial_subtree(const struct plan_shape *shape)
{
    const uint32_t depth = binomial_tree_depth(shape);

    for (uint32_t level = 0; level < depth; level++) {
        const struct binomial_edge edge = binomial_edge_at(shape, level);

        if (edge.end == BINOMIAL_CHILD_SIDE)
            return edge.beyond;
    }
    return (struct rank_range){0, shape->size};
}

struct plan_span
binomial_blocks_span(const struct plan_shape *shape,
                     enum plan_buffer whole,
                     struct rank_range ranks)
{
    const uint32_t n_ranks = ranks.end - ranks.first;

    if (shape->rank == shape->root)
        return caller_block_run_span(shape, whole, ranks.first, n_ranks);

    assert(ranks.first >= shape->rank);

    struct plan_span blocks =
        caller_block_run_span(shape, PLAN_SCRATCH, ranks.first, n_ranks);

    blocks.first = caller_block_run_span(shape, PLAN_SCRATCH, shape->rank,
                                         ranks.first - shape->rank)
                       .count;
    return blocks;
}

size_t
binomial_scratch_count(const struct plan_shape *shape)
{
    const struct rank_range subtree = binomial_subtree(shape);

    if (shape->rank == shape->root || subtree.end - subtree.first == 1)
        return 0;
    return binomial_blocks_span(shape, PLAN_SCRATCH, subtree).count;
}
