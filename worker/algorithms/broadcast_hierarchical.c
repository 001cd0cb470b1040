/*
 * algorithms/broadcast_hierarchical.c - broadcast between the nodes, then inside
 *
 * The root represents its node, and the first rank represents any other. Chains
 * lead from one of these ranks to the next and from each through its node.
 * Every link between two nodes carries the buffer once, however the ranks are
 * numbered. The engine forwards bytes as they arrive, so that both chains are
 * active at once.
 *
 * Cost: as for broadcast_chain.c, with only the slow links that are
 * unavoidable.
 */

#include "algorithms/algorithms.h"
#include "algorithms/hierarchy.h"

static struct composition
hierarchical_compose(const struct plan_shape *shape)
{
    static const struct hierarchy hierarchy = {
        .between = &algorithm_broadcast_chain,
        .intra_node_last_algorithm = &algorithm_broadcast_chain,
    };
    struct composition composition = {.shape = shape};

    hierarchy_compose_broadcast(&composition, &hierarchy);
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

const struct algorithm algorithm_broadcast_hierarchical = {
    .name = "hierarchical",
    .n_rounds = hierarchical_n_rounds,
    .plan_round = hierarchical_plan_round,
    .n_scratch = hierarchical_n_scratch,
};

/*
 * Broadcast between the nodes, then inside.
 *
 * Like the algorithm above, but with trees, for small buffers.
 *
 * Cost: ceil(log2 nodes) * (alpha + bytes * beta) between the nodes, and
 * ceil(log2 ranks of a node) * (alpha' + bytes * beta') inside.
 */

static struct composition
hierarchical_tree_compose(const struct plan_shape *shape)
{
    static const struct hierarchy hierarchy = {
        .between = &algorithm_broadcast_binomial,
        .intra_node_last_algorithm = &algorithm_broadcast_binomial,
    };
    struct composition composition = {.shape = shape};

    hierarchy_compose_broadcast(&composition, &hierarchy);
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

const struct algorithm algorithm_broadcast_hierarchical_tree = {
    .name = "hierarchical_tree",
    .n_rounds = hierarchical_tree_n_rounds,
    .plan_round = hierarchical_tree_plan_round,
    .n_scratch = hierarchical_tree_n_scratch,
};
