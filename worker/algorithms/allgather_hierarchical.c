/*
 * algorithms/allgather_hierarchical.c - all-gather between nodes, by their first rank
 *
 * The first rank of each node gathers the node's blocks and passes them to the
 * other nodes around a ring; then a chain inside each node distributes the
 * result. A node's blocks are one message if they are contiguous. A block
 * crosses the network once per node, and only the first ranks use the network.
 *
 * Cost: (nodes-1) * (alpha + bytes/nodes * beta) between the nodes, where bytes
 * is the size of the whole output, and bytes * beta' inside.
 */

#include "algorithms/algorithms.h"
#include "algorithms/hierarchy.h"

static struct composition
hierarchical_compose(const struct plan_shape *shape)
{
    static const struct hierarchy hierarchy = {
        .intra_node_first_algorithm = &algorithm_gather_linear,
        .between = &algorithm_allgather_ring,
        .intra_node_last_algorithm = &algorithm_broadcast_chain,
    };
    struct composition composition = {.shape = shape};

    hierarchy_compose_allgather(&composition, &hierarchy);
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

const struct algorithm algorithm_allgather_hierarchical = {
    .name = "hierarchical",
    .n_rounds = hierarchical_n_rounds,
    .plan_round = hierarchical_plan_round,
    .n_scratch = hierarchical_n_scratch,
};

/*
 * All-gather of small blocks by trees.
 *
 * Like the algorithm above, but with Bruck's all-gather between the
 * nodes and a tree inside them.
 *
 * Cost: ceil(log2 nodes) * alpha + bytes * beta between the nodes. Inside a
 * node of m ranks, m messages to gather and ceil(log2 m) to distribute.
 */

static struct composition
hierarchical_tree_compose(const struct plan_shape *shape)
{
    static const struct hierarchy hierarchy = {
        .intra_node_first_algorithm = &algorithm_gather_linear,
        .between = &algorithm_allgather_bruck,
        .intra_node_last_algorithm = &algorithm_broadcast_binomial,
    };
    struct composition composition = {.shape = shape};

    hierarchy_compose_allgather(&composition, &hierarchy);
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

const struct algorithm algorithm_allgather_hierarchical_tree = {
    .name = "hierarchical_tree",
    .n_rounds = hierarchical_tree_n_rounds,
    .plan_round = hierarchical_tree_plan_round,
    .n_scratch = hierarchical_tree_n_scratch,
};
