/*
 * algorithms/reduce_chain.c - reduce along the ring, up to the root
 *
 *     root+1 -> ... -> n-1 -> 0 -> ... -> root-1 -> root
 *
 * Every rank receives a partial result of the whole buffer, combines it with
 * its own elements and sends it on; the engine forwards bytes as they arrive.
 * Operands are in the order of the chain, except that rank 0 is to the left of
 * the higher ranks; if the root is the last rank, that is the order of the
 * ranks.
 *
 * No input changes: ranks that pass a result on combine into scratch, even in
 * place, and only the root's output is written.
 *
 * Cost: (n-1) * alpha + bytes * (beta + gamma), plus the time to fill the
 * chain.
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

static bool
is_first_in_chain(const struct plan_shape *shape)
{
    return ring_prev(shape) == shape->root;
}

static size_t
n_scratch(const struct plan_shape *shape)
{
    return is_root(shape) || is_first_in_chain(shape) ? 0 : shape->count;
}

static void
plan_add_receive(struct plan *plan,
                 const struct plan_shape *shape,
                 struct plan_span own)
{
    const enum plan_buffer to = is_root(shape) ? PLAN_OUTPUT : PLAN_SCRATCH;

    plan_add_step(plan, &(struct plan_step){
                            .kind = PLAN_REDUCE,
                            .peer = ring_prev(shape),
                            .from = own,
                            .to = whole_buffer_span(shape, to),
                            .side = ring_operand_side(shape),
                            .is_final = is_root(shape),
                        });
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(shape->root < shape->size);
    assert(round < n_rounds(shape));

    const enum plan_buffer own_buffer =
        shape->is_in_place ? PLAN_OUTPUT : PLAN_INPUT;
    const struct plan_span own = whole_buffer_span(shape, own_buffer);

    if (shape->size == 1) {
        if (round == 0 && !shape->is_in_place)
            plan_add_copy(plan, own, whole_buffer_span(shape, PLAN_OUTPUT));
        return;
    }
    if (round == 0 && !is_first_in_chain(shape))
        plan_add_receive(plan, shape, own);
    if (round == 1 && !is_root(shape))
        plan_add_send(plan, ring_next(shape), 0,
                      is_first_in_chain(shape)
                          ? own
                          : whole_buffer_span(shape, PLAN_SCRATCH));
}

const struct algorithm algorithm_reduce_chain = {
    .name = "chain",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
