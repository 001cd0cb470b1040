/*
 * algorithms/barrier_tree.c - barrier up a tree and down again
 *
 * A rank that has received a message from each of its children in a binomial
 * tree (algorithms/binomial.h) sends one to its parent. When the root has received
 * all, messages go down the same edges. Size 6, root 0:
 *
 *     up        1 -> 0    3 -> 2    5 -> 4
 *               2 -> 0
 *               4 -> 0
 *     down      0 -> 4
 *               0 -> 2
 *               0 -> 1    2 -> 3    4 -> 5
 *
 * A message is one element: everything received so far, combined. Each arrival
 * on the way up is combined into the next element of the scratch; the one that
 * comes down is stored in the last element.
 *
 * Cost: 2 (n - 1) messages in total over n - 1 connections, and 2 ceil(log2 n)
 * in sequence. Dissemination has n log2 n in total, over as many connections,
 * and log2 n in sequence. For ranks that share a processor the total work
 * counts.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "algorithms/binomial.h"
#include "plan/topology.h"

static uint32_t
n_rounds(const struct plan_shape *shape)
{
    return 2 * binomial_tree_depth(shape);
}

/* The number of messages from children at the levels before end. */
static size_t
received_message_count(const struct plan_shape *shape, uint32_t end)
{
    size_t n = 0;

    for (uint32_t level = 0; level < end; level++)
        n += binomial_edge_at(shape, level).end == BINOMIAL_PARENT_SIDE;
    return n;
}

static size_t
n_scratch(const struct plan_shape *shape)
{
    const size_t n_unexpected_messages =
        received_message_count(shape, binomial_tree_depth(shape)) +
        (shape->rank == shape->root ? 0 : 1);

    return shape->size == 1 ? 0 : n_unexpected_messages + 1;
}

static void
plan_add_tree_up(struct plan *plan,
                 const struct plan_shape *shape,
                 uint32_t level)
{
    const struct binomial_edge edge = binomial_edge_at(shape, level);
    const struct plan_span heard = {PLAN_SCRATCH,
                                    received_message_count(shape, level), 1};

    if (edge.end == BINOMIAL_CHILD_SIDE)
        plan_add_send(plan, edge.peer, level, heard);
    if (edge.end == BINOMIAL_PARENT_SIDE)
        plan_add_step(plan, &(struct plan_step){
                                .kind = PLAN_REDUCE,
                                .peer = edge.peer,
                                .message = level,
                                .from = heard,
                                .to = {PLAN_SCRATCH, heard.first + 1, 1},
                            });
}

static void
plan_add_tree_down(struct plan *plan,
                   const struct plan_shape *shape,
                   uint32_t level)
{
    const uint32_t depth = binomial_tree_depth(shape);
    const struct binomial_edge edge = binomial_edge_at(shape, level);
    const struct plan_span all = {PLAN_SCRATCH, n_scratch(shape) - 1, 1};

    if (edge.end == BINOMIAL_PARENT_SIDE)
        plan_add_send(plan, edge.peer, depth + level, all);
    if (edge.end == BINOMIAL_CHILD_SIDE)
        plan_add_store(plan, edge.peer, depth + level, all);
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    const uint32_t depth = binomial_tree_depth(shape);

    assert(round < n_rounds(shape));

    if (round < depth)
        plan_add_tree_up(plan, shape, round);
    else
        plan_add_tree_down(plan, shape, 2 * depth - 1 - round);
}

const struct algorithm algorithm_barrier_tree = {
    .name = "tree",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
