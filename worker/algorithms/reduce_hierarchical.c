/*
 * algorithms/reduce_hierarchical.c - reduce inside the nodes, then between them
 *
 * The root collects the sum of its node, and the first rank of any other node
 * that node's sum; a chain combines these sums up to the root. algorithms/hierarchy.h
 * defines the order of operands.
 *
 * Cost: as for reduce_chain.c, with only the slow links that are unavoidable.
 */

#include "algorithms/algorithms.h"
#include "algorithms/hierarchy.h"

static struct composition
hierarchical_compose(const struct plan_shape *shape)
{
    static const struct hierarchy hierarchy = {
        .intra_node_first_algorithm = &algorithm_reduce_chain,
        .between = &algorithm_reduce_chain,
    };
    struct composition composition = {.shape = shape};

    hierarchy_compose_reduce(&composition, &hierarchy);
    return composition;
}

static uint32_t
hierarchical_n_rounds(const struct plan_shape *shape)
{
    const struct composition composition = hierarchical_compose(shape);

    return composition_n_rounds(&composition);
}

static size_t
hierarchical_n_scratch(const struct plan_shape *shape)
{
    const struct composition composition = hierarchical_compose(shape);

    return composition_n_scratch(&composition);
}

static void
hierarchical_plan_round(struct plan *plan,
                        const struct plan_shape *shape,
                        uint32_t round)
{
    const struct composition composition = hierarchical_compose(shape);

    composition_plan_round(&composition, plan, round);
}

const struct algorithm algorithm_reduce_hierarchical = {
    .name = "hierarchical",
    .n_rounds = hierarchical_n_rounds,
    .plan_round = hierarchical_plan_round,
    .n_scratch = hierarchical_n_scratch,
};

/*
 * Reduce inside the nodes, then between them.
 *
 * Like the algorithm above, but with trees, for small buffers.
 *
 * Cost: ceil(log2 ranks of a node) * (alpha' + bytes * (beta' + gamma))
 * inside, and ceil(log2 nodes) * (alpha + bytes * (beta + gamma)) between.
 */

static struct composition
hierarchical_tree_compose(const struct plan_shape *shape)
{
    static const struct hierarchy hierarchy = {
        .intra_node_first_algorithm = &algorithm_reduce_binomial,
        .between = &algorithm_reduce_binomial,
    };
    struct composition composition = {.shape = shape};

    hierarchy_compose_reduce(&composition, &hierarchy);
    return composition;
}

static uint32_t
hierarchical_tree_n_rounds(const struct plan_shape *shape)
{
    const struct composition composition = hierarchical_tree_compose(shape);

    return composition_n_rounds(&composition);
}

static size_t
hierarchical_tree_n_scratch(const struct plan_shape *shape)
{
    const struct composition composition = hierarchical_tree_compose(shape);

    return composition_n_scratch(&composition);
}

static void
hierarchical_tree_plan_round(struct plan *plan,
                             const struct plan_shape *shape,
                             uint32_t round)
{
    const struct composition composition = hierarchical_tree_compose(shape);

    composition_plan_round(&composition, plan, round);
}

const struct algorithm algorithm_reduce_hierarchical_tree = {
    .name = "hierarchical_tree",
    .n_rounds = hierarchical_tree_n_rounds,
    .plan_round = hierarchical_tree_plan_round,
    .n_scratch = hierarchical_tree_n_scratch,
};
