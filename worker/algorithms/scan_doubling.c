/*
 * algorithms/scan_doubling.c - scan in ceil(log2 n) rounds
 *
 * Before exchange k a rank holds the sum of the 2^k ranks up to itself, or of
 * all of them if there are fewer. It sends the sum to the rank 2^k after it,
 * and combines what arrives from the rank 2^k before it on the left. Held by
 * rank 5 of six:
 *
 *     5    4 5    2 3 4 5    0 1 2 3 4 5
 *
 * The sum grows in the output. It must not change while it is being sent, so
 * what arrives waits in scratch until it has been sent. Each rank sums by an
 * expression of its own, which is no loss, because the ranks' results differ
 * anyway.
 *
 * No step is final, see scan_chain.c.
 *
 * Cost: ceil(log2 n) * (alpha + bytes * (beta + gamma)). For little data.
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

static size_t
n_scratch(const struct plan_shape *shape)
{
    return shape->rank == 0 ? 0 : shape->count;
}

static void
plan_add_exchange(struct plan *plan,
                  const struct plan_shape *shape,
                  uint32_t level)
{
    const uint32_t reach = (uint32_t)1 << level;

    if (shape->size - shape->rank > reach)
        plan_add_send(plan, shape->rank + reach, level,
                      whole_buffer_span(shape, PLAN_OUTPUT));
    if (shape->rank >= reach)
        plan_add_store(plan, shape->rank - reach, level,
                       whole_buffer_span(shape, PLAN_SCRATCH));
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    if (round == 0) {
        if (!shape->is_in_place)
            plan_add_copy(plan, whole_buffer_span(shape, PLAN_INPUT),
                          whole_buffer_span(shape, PLAN_OUTPUT));
        return;
    }

    const uint32_t level = (round - 1) / 2;

    if (round % 2 == 1)
        plan_add_exchange(plan, shape, level);
    else if (shape->rank >> level > 0)
        plan_add_step(plan, &(struct plan_step){
                                .kind = PLAN_COMBINE,
                                .from = whole_buffer_span(shape, PLAN_SCRATCH),
                                .to = whole_buffer_span(shape, PLAN_OUTPUT),
                                .side = PLAN_RECEIVED_IS_LEFT_OPERAND,
                            });
}

const struct algorithm algorithm_scan_doubling = {
    .name = "doubling",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
