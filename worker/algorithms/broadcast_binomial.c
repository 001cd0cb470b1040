/*
 * algorithms/broadcast_binomial.c - broadcast down a binomial tree
 *
 * From the highest level of the tree to the lowest, each rank that has the
 * buffer sends it across its edge (algorithms/binomial.h) to a rank that does not:
 * each round doubles the number of ranks that have it. Size 6, root 3:
 *
 *     round 0    3 -> 4
 *     round 1    3 -> 0
 *     round 2    3 -> 2    0 -> 1    4 -> 5
 *
 * The engine forwards bytes as they arrive, so for a large buffer all levels
 * are active at once; the cost that remains is that the root sends the buffer
 * once per level.
 *
 * Cost: ceil(log2 n) * (alpha + bytes * beta). The fastest for small buffers.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "algorithms/binomial.h"
#include "plan/topology.h"

/* A single rank still has to copy its input. */
static uint32_t
n_rounds(const struct plan_shape *shape)
{
    return shape->size == 1 ? 1 : binomial_tree_depth(shape);
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    const struct plan_span output = whole_buffer_span(shape, PLAN_OUTPUT);
    const bool is_from_input =
        shape->rank == shape->root && !shape->is_in_place;
    const struct plan_span from =
        is_from_input ? whole_buffer_span(shape, PLAN_INPUT) : output;
    const struct binomial_edge edge =
        binomial_edge_at(shape, n_rounds(shape) - 1 - round);

    if (is_from_input && round == 0)
        plan_add_copy(plan, from, output);
    if (edge.end == BINOMIAL_PARENT_SIDE)
        plan_add_send(plan, edge.peer, 0, from);
    if (edge.end == BINOMIAL_CHILD_SIDE)
        plan_add_store(plan, edge.peer, 0, output);
}

const struct algorithm algorithm_broadcast_binomial = {
    .name = "binomial",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
};
