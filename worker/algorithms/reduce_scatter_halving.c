/*
 * algorithms/reduce_scatter_halving.c - reduce-scatter in ceil(log2 n) levels
 *
 * A group of neighbouring ranks is cut into a lower and an upper half. Each
 * rank has a partner in the other half; it sends the partner its partial sums
 * of the blocks of that half and combines what it receives for its own half.
 * Then the halves become groups, until a group is one rank and its block is
 * finished. Blocks that a rank has partial sums of, n = 4:
 *
 *     rank 0    0 1 2 3   0 1   0
 *     rank 1    0 1 2 3   0 1   1
 *     rank 2    0 1 2 3   2 3   2
 *     rank 3    0 1 2 3   2 3   3
 *
 * In a group of odd size the lower half has one rank more. Its last rank sends
 * to the first rank of the upper half, which combines twice, and receives
 * nothing on this level: its own partial sum stays as it is. The first rank of
 * a group never combines twice again, so any number of ranks takes the same
 * number of levels without folding.
 *
 * Distant ranks exchange first, because only then are the blocks of a half
 * contiguous in the buffer. Partial sums thus hold every other rank, every
 * fourth and so on; the lower half is on the left.
 *
 * The input must not change, even in place, so partial sums are kept in
 * scratch: half of the blocks. In place, the result goes to the start of the
 * output when the blocks there have been sent. If nothing has arrived before
 * the last level (rank 1 of two or three), they are sent in the same round, and
 * the result is kept in scratch for one round.
 *
 * Cost: ceil(log2 n) * alpha + (n-1)/n * bytes * (beta + gamma), and about half
 * as much again for the first rank of an upper half.
 */

#include <assert.h>
#include <stdbool.h>

#include "algorithms/algorithms.h"
#include "plan/topology.h"

/* A group on some level, from the point of view of one of its ranks. */
struct halving_group {
    uint32_t first; /* the first rank, and thus also the first block */
    uint32_t size;
    /* Nothing has arrived yet: the partial sums are the rank's own input. */
    bool has_received_nothing;
    uint32_t scratch_first; /* the block at the start of the scratch */
};

static uint32_t
upper_half_first_rank(const struct halving_group *group)
{
    return group->first + group->size - group->size / 2;
}

static bool
is_in_upper_half(const struct halving_group *group, uint32_t rank)
{
    return rank >= upper_half_first_rank(group);
}

/* Is rank the last of the lower half, with no partner in the upper half? */
static bool
is_unpaired_rank(const struct halving_group *group, uint32_t rank)
{
    return group->size % 2 == 1 && rank + 1 == upper_half_first_rank(group);
}

static bool
has_two_partners(const struct halving_group *group, uint32_t rank)
{
    return group->size % 2 == 1 && rank == upper_half_first_rank(group);
}

/* The half that rank is in. */
static struct halving_group
half_of_rank(const struct halving_group *group, uint32_t rank)
{
    const uint32_t upper = upper_half_first_rank(group);
    const bool is_up = is_in_upper_half(group, rank);
    const bool is_odd = is_unpaired_rank(group, rank);
    struct halving_group half = {
        .first = is_up ? upper : group->first,
        .size = is_up ? group->size / 2 : upper - group->first,
        .has_received_nothing = group->has_received_nothing && is_odd,
        .scratch_first = group->scratch_first,
    };

    if (group->has_received_nothing && !is_odd)
        half.scratch_first = half.first;
    return half;
}

static struct halving_group
group_at_level(const struct plan_shape *shape, uint32_t level)
{
    struct halving_group group = {.size = shape->size,
                                  .has_received_nothing = true};

    for (uint32_t i = 0; i < level; i++)
        group = half_of_rank(&group, shape->rank);
    return group;
}

static uint32_t
halving_partner_of(const struct halving_group *group, uint32_t rank)
{
    const uint32_t distance = upper_half_first_rank(group) - group->first;

    if (is_in_upper_half(group, rank))
        return rank - distance;
    return is_unpaired_rank(group, rank) ? rank + 1 : rank + distance;
}

/* Blocks of contiguous ranks. */
struct contiguous_block_run {
    uint32_t first;
    uint32_t n_blocks;
};

static struct contiguous_block_run
blocks_of_half(const struct halving_group *half)
{
    return (struct contiguous_block_run){half->first, half->size};
}

static struct contiguous_block_run
blocks_of_other_half(const struct halving_group *group, uint32_t rank)
{
    const uint32_t upper = upper_half_first_rank(group);

    if (is_in_upper_half(group, rank))
        return (struct contiguous_block_run){group->first,
                                             upper - group->first};
    return (struct contiguous_block_run){upper, group->size / 2};
}

static struct plan_span
own_input_span(const struct plan_shape *shape,
               struct contiguous_block_run contiguous_block_run)
{
    const enum plan_buffer own = shape->is_in_place ? PLAN_OUTPUT : PLAN_INPUT;

    return caller_block_run_span(shape, own, contiguous_block_run.first,
                                 contiguous_block_run.n_blocks);
}

static struct plan_span
scratch_span(const struct plan_shape *shape,
             const struct halving_group *half,
             struct contiguous_block_run contiguous_block_run)
{
    struct plan_span span = own_input_span(shape, contiguous_block_run);

    span.buffer = PLAN_SCRATCH;
    span.first -=
        caller_block_span(shape, PLAN_SCRATCH, half->scratch_first).first;
    return span;
}

/* Where the current partial sums are. */
static struct plan_span
partial_sums_span(const struct plan_shape *shape,
                  const struct halving_group *group,
                  struct contiguous_block_run contiguous_block_run)
{
    return group->has_received_nothing
               ? own_input_span(shape, contiguous_block_run)
               : scratch_span(shape, group, contiguous_block_run);
}

static struct plan_span
result_span(const struct plan_shape *shape)
{
    struct plan_span span = caller_block_span(shape, PLAN_OUTPUT, shape->rank);

    span.first = 0;
    return span;
}

/* In place, if nothing has arrived before: the rank's own block may partly
 * overlap the result, and the blocks that stand there are sent in the same
 * round. */
static bool
result_needs_scratch(const struct plan_shape *shape)
{
    return shape->is_in_place && shape->size <= 3 && shape->rank == 1;
}

/* Two rounds per level; the second is for ranks that combine twice. */
static uint32_t
n_rounds(const struct plan_shape *shape)
{
    if (shape->size == 1)
        return shape->is_in_place ? 0 : 1;
    return 2 * doubling_round_count(shape);
}

static size_t
n_scratch(const struct plan_shape *shape)
{
    if (shape->size == 1 || (shape->size == 2 && !result_needs_scratch(shape)))
        return 0;

    struct halving_group half = group_at_level(shape, 0);

    while (half.has_received_nothing)
        half = half_of_rank(&half, shape->rank);
    return own_input_span(shape, blocks_of_half(&half)).count;
}

/* step already has its peer, message, own operand and finality. */
static void
plan_add_receive(struct plan *plan,
                 const struct plan_shape *shape,
                 const struct halving_group *half,
                 struct plan_step step)
{
    const bool is_result = step.is_final && !result_needs_scratch(shape);

    step.kind = PLAN_REDUCE;
    step.to = is_result ? result_span(shape)
                        : scratch_span(shape, half, blocks_of_half(half));
    step.side = step.peer < shape->rank ? PLAN_RECEIVED_IS_LEFT_OPERAND
                                        : PLAN_OWN_IS_LEFT_OPERAND;
    plan_add_step(plan, &step);
}

static void
plan_add_exchange(struct plan *plan,
                  const struct plan_shape *shape,
                  uint32_t level)
{
    const struct halving_group group = group_at_level(shape, level);
    const struct halving_group half = half_of_rank(&group, shape->rank);
    const uint32_t partner = halving_partner_of(&group, shape->rank);
    const bool is_first_of_two = has_two_partners(&group, shape->rank);

    plan_add_send(plan, partner, level,
                  partial_sums_span(shape, &group,
                                    blocks_of_other_half(&group, shape->rank)));
    if (is_unpaired_rank(&group, shape->rank))
        return;
    plan_add_receive(
        plan, shape, &half,
        (struct plan_step){
            .peer = partner,
            .message = level,
            .from = partial_sums_span(shape, &group, blocks_of_half(&half)),
            .is_final = half.size == 1 && !is_first_of_two,
        });
}

/* Combine what the last rank of the lower half sends, or copy the result from
 * the scratch. */
static void
plan_add_second_combine(struct plan *plan,
                        const struct plan_shape *shape,
                        uint32_t level)
{
    const struct halving_group group = group_at_level(shape, level);
    const struct halving_group half = half_of_rank(&group, shape->rank);
    const struct plan_span sums =
        scratch_span(shape, &half, blocks_of_half(&half));

    if (half.size == 1 && result_needs_scratch(shape))
        plan_add_copy(plan, sums, result_span(shape));
    if (!has_two_partners(&group, shape->rank))
        return;
    plan_add_receive(plan, shape, &half,
                     (struct plan_step){
                         .peer = shape->rank - 1,
                         .message = level,
                         .from = sums,
                         .is_final = half.size == 1,
                     });
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    if (shape->size == 1)
        plan_add_copy(
            plan, own_input_span(shape, (struct contiguous_block_run){0, 1}),
            result_span(shape));
    else if (group_at_level(shape, round / 2).size == 1)
        return;
    else if (round % 2 == 0)
        plan_add_exchange(plan, shape, round / 2);
    else
        plan_add_second_combine(plan, shape, round / 2);
}

const struct algorithm algorithm_reduce_scatter_halving = {
    .name = "halving",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
