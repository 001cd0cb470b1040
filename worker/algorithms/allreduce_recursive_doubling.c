/*
 * algorithms/allreduce_recursive_doubling.c - all-reduce in log2 n exchanges
 *
 * In exchange k two partners, 2^k apart, send each other their sums and combine
 * the two halves in the same way, the lower one left. After it, blocks of
 * 2^(k+1) neighbours hold the same sum, with the same bits, because all of them
 * computed it by the same expression:
 *
 *     ((0 1)(2 3))((4 5)(6 7))
 *
 * For AVG, both partners divide in the last exchange, each its own copy.
 *
 * If n is not a power of two, the first ranks are folded in pairs (topology.h):
 * the upper rank sends its elements to the lower one, is idle, and receives the
 * finished result, which it must not divide again.
 *
 * A sum that is being sent must not change, so sums alternate between two
 * buffers. They end in the output. In place they also begin there; if an odd
 * number of exchanges leads there, the last arrival is stored in the scratch
 * and combined when the sum has been sent.
 *
 * Cost: log2 n * (alpha + bytes * (beta + gamma)), and, if folded, two more
 * messages of all bytes. For little data, where alpha is all that counts.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "plan/topology.h"

/* Round 0 folds; then come the exchanges, a round that combines a stored last
 * arrival, and a round that unfolds. */
static uint32_t
n_rounds(const struct plan_shape *shape)
{
    if (shape->size == 1)
        return shape->is_in_place ? 0 : 1;
    return fold_level_count(shape) + 3;
}

static size_t
n_scratch(const struct plan_shape *shape)
{
    return shape->size == 1 || !fold_is_active(shape) ? 0 : shape->count;
}

static struct plan_span
own_input_span(const struct plan_shape *shape)
{
    return whole_buffer_span(shape,
                             shape->is_in_place ? PLAN_OUTPUT : PLAN_INPUT);
}

static enum plan_operand_side
operand_side_of_peer(const struct plan_shape *shape, uint32_t peer)
{
    return peer < shape->rank ? PLAN_RECEIVED_IS_LEFT_OPERAND
                              : PLAN_OWN_IS_LEFT_OPERAND;
}

static bool
last_combine_is_deferred(const struct plan_shape *shape)
{
    return shape->is_in_place && fold_level_count(shape) % 2 == 1;
}

/* Where the sum stands before an exchange; after the last one, the result. */
static struct plan_span
partial_sum_span(const struct plan_shape *shape, uint32_t exchange)
{
    const uint32_t n_left = fold_level_count(shape) - exchange;
    const uint32_t n_moves = shape->is_in_place ? exchange : n_left;

    if (exchange == 0 && fold_partner(shape) == shape->rank)
        return own_input_span(shape);
    if (n_left == 0)
        return whole_buffer_span(shape, PLAN_OUTPUT);
    return whole_buffer_span(shape, n_moves % 2 ? PLAN_SCRATCH : PLAN_OUTPUT);
}

static void
plan_add_fold(struct plan *plan, const struct plan_shape *shape)
{
    const uint32_t partner = fold_partner(shape);

    if (partner == shape->rank)
        return;
    if (!fold_is_active(shape)) {
        plan_add_send(plan, partner, 0, own_input_span(shape));
        return;
    }
    plan_add_step(plan, &(struct plan_step){
                            .kind = PLAN_REDUCE,
                            .peer = partner,
                            .message = 0,
                            .from = own_input_span(shape),
                            .to = partial_sum_span(shape, 0),
                            .side = PLAN_OWN_IS_LEFT_OPERAND,
                        });
}

static void
plan_add_unfold(struct plan *plan,
                const struct plan_shape *shape,
                uint32_t round)
{
    const uint32_t partner = fold_partner(shape);
    const struct plan_span result = whole_buffer_span(shape, PLAN_OUTPUT);

    if (partner == shape->rank)
        return;
    if (fold_is_active(shape))
        plan_add_send(plan, partner, round, result);
    else
        plan_add_store(plan, partner, round, result);
}

static void
plan_add_exchange(struct plan *plan,
                  const struct plan_shape *shape,
                  uint32_t round)
{
    const uint32_t exchange = round - 1;
    const uint32_t peer = fold_exchange_peer(shape, exchange);
    const bool is_last = round == fold_level_count(shape);
    const struct plan_span sum = partial_sum_span(shape, exchange);

    plan_add_send(plan, peer, round, sum);
    if (is_last && last_combine_is_deferred(shape)) {
        plan_add_store(plan, peer, round,
                       whole_buffer_span(shape, PLAN_SCRATCH));
        return;
    }
    plan_add_step(plan, &(struct plan_step){
                            .kind = PLAN_REDUCE,
                            .peer = peer,
                            .message = round,
                            .from = sum,
                            .to = partial_sum_span(shape, exchange + 1),
                            .side = operand_side_of_peer(shape, peer),
                            .is_final = is_last,
                        });
}

static void
plan_add_deferred_combine(struct plan *plan, const struct plan_shape *shape)
{
    if (!last_combine_is_deferred(shape))
        return;

    const uint32_t peer =
        fold_exchange_peer(shape, fold_level_count(shape) - 1);

    plan_add_step(plan, &(struct plan_step){
                            .kind = PLAN_COMBINE,
                            .from = whole_buffer_span(shape, PLAN_SCRATCH),
                            .to = whole_buffer_span(shape, PLAN_OUTPUT),
                            .side = operand_side_of_peer(shape, peer),
                            .is_final = true,
                        });
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    const uint32_t n_exchanges = fold_level_count(shape);

    if (shape->size == 1)
        plan_add_copy(plan, own_input_span(shape),
                      whole_buffer_span(shape, PLAN_OUTPUT));
    else if (round == 0)
        plan_add_fold(plan, shape);
    else if (round == n_exchanges + 2)
        plan_add_unfold(plan, shape, round);
    else if (fold_is_active(shape) && round <= n_exchanges)
        plan_add_exchange(plan, shape, round);
    else if (fold_is_active(shape))
        plan_add_deferred_combine(plan, shape);
}

const struct algorithm algorithm_allreduce_recursive_doubling = {
    .name = "recursive_doubling",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
