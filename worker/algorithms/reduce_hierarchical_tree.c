/*
 * algorithms/reduce_hierarchical_tree.c - reduce inside the nodes, then between them
 *
 * Like reduce_hierarchical.c, but with trees, for small buffers.
 *
 * Cost: ceil(log2 ranks of a node) * (alpha' + bytes * (beta' + gamma)) inside,
 * and ceil(log2 nodes) * (alpha + bytes * (beta + gamma)) between.
 */

#include "algorithms/algorithms.h"
#include "algorithms/hierarchy.h"

static struct composition
compose(const struct plan_shape *shape)
{
    static const struct hierarchy hierarchy = {
        .inside_first = &algorithm_reduce_binomial,
        .between = &algorithm_reduce_binomial,
    };
    struct composition composition = {.shape = shape};

    hierarchy_compose_reduce(&composition, &hierarchy);
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

const struct algorithm algorithm_reduce_hierarchical_tree = {
    .name = "hierarchical_tree",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
