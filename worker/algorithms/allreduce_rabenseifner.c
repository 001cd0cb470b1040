/*
 * algorithms/allreduce_rabenseifner.c - all-reduce by halving, then doubling
 *
 * A group of ranks shares a run of blocks, and each of the ranks holds a
 * partial sum of the whole run. On every level the even places of the group
 * keep the first part of the run and the odd places keep the rest; each part
 * has as many blocks as ranks keep it. Neighbours send each other the part that
 * they do not keep and combine the part that they keep. The even and the odd
 * places are then two groups of half the size. When a group is one rank, its
 * block is finished, and the levels are traversed backwards: the same partners
 * send each other what they have finished. n = 4, blocks kept:
 *
 *     rank 0    0 1 2 3   0 1   0   0 1   0 1 2 3
 *     rank 1    0 1 2 3   2 3   2   2 3   0 1 2 3
 *     rank 2    0 1 2 3   0 1   1   0 1   0 1 2 3
 *     rank 3    0 1 2 3   2 3   3   2 3   0 1 2 3
 *
 * In a group of odd size the last place has no partner. It sends the odd part
 * to the place before it, which therefore combines twice and answers twice. The
 * last place's own part is complete without an exchange, because no other rank
 * has summed these ranks. Any number of ranks thus needs ceil(log2 n) levels
 * and no rank is idle; folding to a power of two would cost two more messages
 * of all bytes.
 *
 * Partial sums always hold neighbouring ranks, in order. For a power of two the
 * bits are those of recursive doubling. Each block is finished by one rank.
 *
 * No scratch is needed: a rank has sent the blocks that it no longer keeps, and
 * writes them only when they come back finished. Nearby ranks exchange the
 * most.
 *
 * Cost: 2 ceil(log2 n) * alpha + 2 (n-1)/n * bytes * beta for each rank, and up
 * to half as much again for a rank in a group of odd size.
 */

#include "algorithms/allreduce_rabenseifner.h"

#include <assert.h>
#include <stdbool.h>

#include "algorithms/algorithms.h"
#include "plan/topology.h"

/* The place of a rank on a level, and the run of blocks that its group
 * shares. */
struct group_position {
    uint32_t place;
    uint32_t size;  /* of the group; the run has as many blocks */
    uint32_t first; /* block of the run */
    /* Nothing has arrived yet: the partial sum is the rank's own input. */
    bool has_received_nothing;
};

static bool
is_unpaired_last(const struct group_position *group_position)
{
    return group_position->size % 2 == 1 &&
           group_position->place + 1 == group_position->size;
}

static bool
is_before_unpaired_last(const struct group_position *group_position)
{
    return group_position->size % 2 == 1 &&
           group_position->place + 2 == group_position->size;
}

/* The run of blocks that the even (parity 0) or odd places keep. */
static struct plan_span
kept_blocks_span(const struct plan_shape *shape,
                 const struct group_position *group_position,
                 uint32_t parity)
{
    const uint32_t n_odd = group_position->size / 2;
    const uint32_t n_even = group_position->size - n_odd;

    if (parity == 0)
        return partition_block_run_span(shape, PLAN_OUTPUT,
                                        group_position->first, n_even);
    return partition_block_run_span(shape, PLAN_OUTPUT,
                                    group_position->first + n_even, n_odd);
}

static struct group_position
group_position_next(const struct group_position *group_position)
{
    const uint32_t n_odd = group_position->size / 2;
    const uint32_t n_even = group_position->size - n_odd;
    const bool is_even = group_position->place % 2 == 0;

    return (struct group_position){
        .place = group_position->place / 2,
        .size = is_even ? n_even : n_odd,
        .first =
            is_even ? group_position->first : group_position->first + n_even,
        .has_received_nothing = group_position->has_received_nothing &&
                                is_unpaired_last(group_position),
    };
}

static struct group_position
group_position_at_level(const struct plan_shape *shape, uint32_t level)
{
    struct group_position group_position = {
        .place = shape->rank,
        .size = shape->size,
        .has_received_nothing = true,
    };

    for (uint32_t i = 0; i < level; i++)
        group_position = group_position_next(&group_position);
    return group_position;
}

/* Halving takes two rounds per level, the second for ranks that combine twice.
 * Doubling takes one. */
static uint32_t
n_rounds(const struct plan_shape *shape)
{
    if (shape->size == 1)
        return shape->is_in_place ? 0 : 1;
    return 3 * doubling_round_count(shape);
}

uint32_t
allreduce_rabenseifner_middle_round(const struct plan_shape *shape)
{
    return 2 * doubling_round_count(shape);
}

struct plan_span
allreduce_rabenseifner_own_block(const struct plan_shape *shape)
{
    return partition_block_span(
        shape, PLAN_OUTPUT,
        group_position_at_level(shape, doubling_round_count(shape)).first);
}

static struct plan_step
reduce_step_make(const struct plan_shape *shape,
                 const struct group_position *group_position,
                 uint32_t peer,
                 struct plan_span from)
{
    struct plan_span to = from;

    to.buffer = PLAN_OUTPUT;
    return (struct plan_step){
        .kind = PLAN_REDUCE,
        .peer = peer,
        .from = from,
        .to = to,
        .side = peer < shape->rank ? PLAN_RECEIVED_IS_LEFT_OPERAND
                                   : PLAN_OWN_IS_LEFT_OPERAND,
        .is_final = group_position_next(group_position).size == 1,
    };
}

static void
plan_add_halving_step(struct plan *plan,
                      const struct plan_shape *shape,
                      uint32_t level)
{
    const struct group_position group_position =
        group_position_at_level(shape, level);
    const uint32_t distance = (uint32_t)1 << level;
    const uint32_t parity = group_position.place % 2;
    struct plan_span given =
        kept_blocks_span(shape, &group_position, 1 - parity);
    struct plan_span kept = kept_blocks_span(shape, &group_position, parity);

    if (group_position.has_received_nothing && !shape->is_in_place)
        given.buffer = kept.buffer = PLAN_INPUT;
    if (is_unpaired_last(&group_position)) {
        plan_add_send(plan, shape->rank - distance, level, given);
        return;
    }

    const uint32_t peer = shape->rank ^ distance;
    struct plan_step step =
        reduce_step_make(shape, &group_position, peer, kept);

    step.message = level;
    step.is_final = step.is_final && !is_before_unpaired_last(&group_position);
    plan_add_send(plan, peer, level, given);
    plan_add_step(plan, &step);
}

/* Combine what the last place sends to the place before it. */
static void
plan_add_second_combine(struct plan *plan,
                        const struct plan_shape *shape,
                        uint32_t level)
{
    const struct group_position group_position =
        group_position_at_level(shape, level);
    const uint32_t peer = shape->rank + ((uint32_t)1 << level);

    if (!is_before_unpaired_last(&group_position))
        return;

    struct plan_step step =
        reduce_step_make(shape, &group_position, peer,
                         kept_blocks_span(shape, &group_position, 1));

    step.message = level;
    plan_add_step(plan, &step);
}

static void
plan_add_doubling_step(struct plan *plan,
                       const struct plan_shape *shape,
                       uint32_t level)
{
    const struct group_position group_position =
        group_position_at_level(shape, level);
    const uint32_t message = doubling_round_count(shape) + level;
    const uint32_t distance = (uint32_t)1 << level;
    const uint32_t parity = group_position.place % 2;
    const struct plan_span given =
        kept_blocks_span(shape, &group_position, 1 - parity);
    const struct plan_span kept =
        kept_blocks_span(shape, &group_position, parity);

    if (is_unpaired_last(&group_position)) {
        plan_add_store(plan, shape->rank - distance, message, given);
        return;
    }
    plan_add_send(plan, shape->rank ^ distance, message, kept);
    plan_add_store(plan, shape->rank ^ distance, message, given);
    if (is_before_unpaired_last(&group_position))
        plan_add_send(plan, shape->rank + distance, message, kept);
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    const uint32_t levels = doubling_round_count(shape);
    const uint32_t level =
        round < 2 * levels ? round / 2 : 3 * levels - 1 - round;

    if (shape->size == 1) {
        plan_add_copy(plan, whole_buffer_span(shape, PLAN_INPUT),
                      whole_buffer_span(shape, PLAN_OUTPUT));
        return;
    }
    if (group_position_at_level(shape, level).size == 1)
        return;
    if (round >= 2 * levels)
        plan_add_doubling_step(plan, shape, level);
    else if (round % 2 == 0)
        plan_add_halving_step(plan, shape, level);
    else
        plan_add_second_combine(plan, shape, level);
}

const struct algorithm algorithm_allreduce_rabenseifner = {
    .name = "rabenseifner",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
};
