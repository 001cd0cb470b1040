/*
 * algorithms/exscan_doubling.c - exclusive scan in ceil(log2 n) rounds
 *
 * Like scan_doubling.c, but the sum that is sent is in scratch and begins with
 * the rank's own elements, while the output collects the same sum without them:
 * the first arrival is stored there, and later ones are combined with both.
 * What rank 5 of six holds in scratch and output:
 *
 *     5        4 5      2 3 4 5        (not needed)
 *     -        4        2 3 4          0 1 2 3 4
 *
 * The sum in scratch is needed only as long as there is a rank to send it to.
 *
 * Cost: ceil(log2 n) * (alpha + bytes * (beta + 2 gamma)). For little data.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "plan/topology.h"

/* One round copies the rank's own elements; each exchange takes two. */
static uint32_t
n_rounds(const struct plan_shape *shape)
{
    return 1 + 2 * doubling_round_count(shape);
}

/* Is there a rank to send to at this level? */
static bool
sends_at_level(const struct plan_shape *shape, uint32_t level)
{
    return (shape->size - 1 - shape->rank) >> level > 0;
}

static bool
receives_at_level(const struct plan_shape *shape, uint32_t level)
{
    return shape->rank >> level > 0;
}

/* The sum, then what arrived. */
static size_t
n_scratch(const struct plan_shape *shape)
{
    return 2 * shape->count;
}

static struct plan_span
partial_sum_span(const struct plan_shape *shape)
{
    return whole_buffer_span(shape, PLAN_SCRATCH);
}

/* Where the arrival of a level is stored. */
static struct plan_span
received_sum_span(const struct plan_shape *shape, uint32_t level)
{
    if (level == 0)
        return whole_buffer_span(shape, PLAN_OUTPUT);
    return (struct plan_span){PLAN_SCRATCH, shape->count, shape->count};
}

static void
plan_add_exchange(struct plan *plan,
                  const struct plan_shape *shape,
                  uint32_t level)
{
    const uint32_t reach = (uint32_t)1 << level;

    if (sends_at_level(shape, level))
        plan_add_send(plan, shape->rank + reach, level,
                      partial_sum_span(shape));
    if (receives_at_level(shape, level))
        plan_add_store(plan, shape->rank - reach, level,
                       received_sum_span(shape, level));
}

static void
plan_add_combine_step(struct plan *plan,
                      struct plan_span arrived,
                      struct plan_span to)
{
    plan_add_step(plan, &(struct plan_step){
                            .kind = PLAN_COMBINE,
                            .from = arrived,
                            .to = to,
                            .side = PLAN_RECEIVED_IS_LEFT_OPERAND,
                        });
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    if (round == 0) {
        const enum plan_buffer own =
            shape->is_in_place ? PLAN_OUTPUT : PLAN_INPUT;

        if (sends_at_level(shape, 0))
            plan_add_copy(plan, whole_buffer_span(shape, own),
                          partial_sum_span(shape));
        return;
    }

    const uint32_t level = (round - 1) / 2;
    const struct plan_span arrived = received_sum_span(shape, level);

    if (round % 2 == 1) {
        plan_add_exchange(plan, shape, level);
        return;
    }
    if (!receives_at_level(shape, level))
        return;
    if (sends_at_level(shape, level + 1))
        plan_add_combine_step(plan, arrived, partial_sum_span(shape));
    if (level > 0)
        plan_add_combine_step(plan, arrived,
                              whole_buffer_span(shape, PLAN_OUTPUT));
}

const struct algorithm algorithm_exscan_doubling = {
    .name = "doubling",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
