/*
 * algorithms/allreduce_hierarchical_tree.c - all-reduce between nodes, by first ranks
 *
 * A tree inside each node reduces to its first rank, recursive doubling
 * all-reduces between the first ranks, and the tree inside distributes the
 * result. For small buffers, and for any layout of the nodes. algorithms/hierarchy.h
 * defines the order of operands. On a single node, the exchange happens at the
 * top of the tree itself (algorithms/allreduce_tree.c).
 *
 * Cost: ceil(log2 nodes) * (alpha + bytes * (beta + gamma)) between, and twice
 * ceil(log2 ranks of a node) * (alpha' + bytes * beta') inside.
 */

#include "algorithms/algorithms.h"
#include "algorithms/hierarchy.h"

static struct composition
compose(const struct plan_shape *shape)
{
    static const struct hierarchy hierarchy = {
        .inside_first = &algorithm_reduce_binomial,
        .between = &algorithm_allreduce_recursive_doubling,
        .inside_last = &algorithm_broadcast_binomial,
    };
    struct composition composition = {.shape = shape};

    if (team_n_nodes(shape) == 1)
        hierarchy_compose_single_node(&composition, &algorithm_allreduce_tree);
    else
        hierarchy_compose_allreduce(&composition, &hierarchy);
    return composition;
}

static uint32_t
n_rounds(const struct plan_shape *shape)
{
    const struct composition composition = compose(shape);

    return composition_n_rounds(&composition);
}

static size_t
n_scratch(const struct plan_shape *shape)
{
    const struct composition composition = compose(shape);

    return composition_n_scratch(&composition);
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    const struct composition composition = compose(shape);

    composition_plan_round(&composition, plan, round);
}

const struct algorithm algorithm_allreduce_hierarchical_tree = {
    .name = "hierarchical_tree",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
