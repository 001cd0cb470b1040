/*
 * algorithms/allgather_hierarchical_tree.c - all-gather of small blocks by trees
 *
 * Like allgather_hierarchical.c, but with Bruck's all-gather between the nodes
 * and a tree inside them.
 *
 * Cost: ceil(log2 nodes) * alpha + bytes * beta between the nodes. Inside a
 * node of m ranks, m messages to gather and ceil(log2 m) to distribute.
 */

#include "algorithms/algorithms.h"
#include "algorithms/hierarchy.h"

static struct composition
compose(const struct plan_shape *shape)
{
    static const struct hierarchy hierarchy = {
        .inside_first = &algorithm_gather_linear,
        .between = &algorithm_allgather_bruck,
        .inside_last = &algorithm_broadcast_binomial,
    };
    struct composition composition = {.shape = shape};

    hierarchy_compose_allgather(&composition, &hierarchy);
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

const struct algorithm algorithm_allgather_hierarchical_tree = {
    .name = "hierarchical_tree",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
