/*
 * algorithms/broadcast_chain.c - broadcast along the ring, from the root on
 *
 *     root -> root+1 -> ... -> root-1
 *
 * Every rank receives the whole buffer once and sends it on once. The engine
 * forwards bytes as they arrive, so for large buffers all links are busy at
 * once.
 *
 * Cost: (n-1) * alpha + bytes * beta, plus the time to fill the chain, one
 * piece per rank. Good for large buffers; a tree has less latency.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "plan/topology.h"

static uint32_t
n_rounds(const struct plan_shape *shape)
{
    (void)shape;
    return 2;
}

static bool
is_root(const struct plan_shape *shape)
{
    return shape->rank == shape->root;
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(shape->root < shape->size);
    assert(round < n_rounds(shape));

    const struct plan_span output = whole_buffer_span(shape, PLAN_OUTPUT);
    const bool is_from_input = is_root(shape) && !shape->is_in_place;
    const struct plan_span from =
        is_from_input ? whole_buffer_span(shape, PLAN_INPUT) : output;

    if (round == 0) {
        if (is_from_input)
            plan_add_copy(plan, from, output);
        if (!is_root(shape))
            plan_add_store(plan, ring_prev(shape), 0, output);
        return;
    }
    if (ring_next(shape) != shape->root)
        plan_add_send(plan, ring_next(shape), 0, from);
}

const struct algorithm algorithm_broadcast_chain = {
    .name = "chain",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
};
