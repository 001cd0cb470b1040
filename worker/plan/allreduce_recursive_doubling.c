/*
 * plan/allreduce_recursive_doubling.c - all-reduce in log2 n exchanges
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

#include "plan/algorithms.h"
#include "plan/topology.h"

/* Round 0 folds; then come the exchanges, a round that combines a stored last
 * arrival, and a round that unfolds. */
static uint32_t
n_rounds(const struct plan_shape *shape)
{
    if (shape->size == 1)
        return shape->is_in_place ? 0 : 1;
    return fold_levels(shape) + 3;
}

static size_t
n_scratch(const struct plan_shape *shape)
{
    return shape->size == 1 || !fold_is_active(shape) ? 0 : shape->count;
}

static struct plan_span
own_span(const struct plan_shape *shape)
{
    return block_whole(shape, shape->is_in_place ? PLAN_OUTPUT : PLAN_INPUT);
}

static enum plan_side
side_of(const struct plan_shape *shape, uint32_t peer)
{
    return peer < shape->rank ? PLAN_ARRIVED_LEFT : PLAN_OWN_LEFT;
}

static bool
last_is_kept(const struct plan_shape *shape)
{
    return shape->is_in_place && fold_levels(shape) % 2 == 1;
}

/* Where the sum stands before an exchange; after the last one, the result. */
static struct plan_span
sum_span(const struct plan_shape *shape, uint32_t exchange)
{
    const uint32_t n_left = fold_levels(shape) - exchange;
    const uint32_t n_moves = shape->is_in_place ? exchange : n_left;

    if (exchange == 0 && fold_partner(shape) == shape->rank)
        return own_span(shape);
    if (n_left == 0)
        return block_whole(shape, PLAN_OUTPUT);
    return block_whole(shape, n_moves % 2 ? PLAN_SCRATCH : PLAN_OUTPUT);
}

static void
plan_fold(struct plan *plan, const struct plan_shape *shape)
{
    const uint32_t partner = fold_partner(shape);

    if (partner == shape->rank)
        return;
    if (!fold_is_active(shape)) {
        plan_send(plan, partner, 0, own_span(shape));
        return;
    }
    plan_add(plan, &(struct plan_step){
                       .kind = PLAN_REDUCE,
                       .peer = partner,
                       .message = 0,
                       .from = own_span(shape),
                       .to = sum_span(shape, 0),
                       .side = PLAN_OWN_LEFT,
                   });
}

static void
plan_unfold(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    const uint32_t partner = fold_partner(shape);
    const struct plan_span result = block_whole(shape, PLAN_OUTPUT);

    if (partner == shape->rank)
        return;
    if (fold_is_active(shape))
        plan_send(plan, partner, round, result);
    else
        plan_store(plan, partner, round, result);
}

static void
plan_exchange(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    const uint32_t exchange = round - 1;
    const uint32_t peer = fold_peer(shape, exchange);
    const bool is_last = round == fold_levels(shape);
    const struct plan_span sum = sum_span(shape, exchange);

    plan_send(plan, peer, round, sum);
    if (is_last && last_is_kept(shape)) {
        plan_store(plan, peer, round, block_whole(shape, PLAN_SCRATCH));
        return;
    }
    plan_add(plan, &(struct plan_step){
                       .kind = PLAN_REDUCE,
                       .peer = peer,
                       .message = round,
                       .from = sum,
                       .to = sum_span(shape, exchange + 1),
                       .side = side_of(shape, peer),
                       .is_final = is_last,
                   });
}

static void
plan_kept(struct plan *plan, const struct plan_shape *shape)
{
    if (!last_is_kept(shape))
        return;

    const uint32_t peer = fold_peer(shape, fold_levels(shape) - 1);

    plan_add(plan, &(struct plan_step){
                       .kind = PLAN_COMBINE,
                       .from = block_whole(shape, PLAN_SCRATCH),
                       .to = block_whole(shape, PLAN_OUTPUT),
                       .side = side_of(shape, peer),
                       .is_final = true,
                   });
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    const uint32_t n_exchanges = fold_levels(shape);

    if (shape->size == 1)
        plan_copy(plan, own_span(shape), block_whole(shape, PLAN_OUTPUT));
    else if (round == 0)
        plan_fold(plan, shape);
    else if (round == n_exchanges + 2)
        plan_unfold(plan, shape, round);
    else if (fold_is_active(shape) && round <= n_exchanges)
        plan_exchange(plan, shape, round);
    else if (fold_is_active(shape))
        plan_kept(plan, shape);
}

const struct algorithm algorithm_allreduce_recursive_doubling = {
    .name = "recursive_doubling",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
