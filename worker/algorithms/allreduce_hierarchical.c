/*
 * algorithms/allreduce_hierarchical.c - all-reduce inside, between the nodes, inside
 *
 * If all nodes have the same number m of ranks, the ring all-reduce inside a
 * node is interrupted in the middle: each rank then holds one block of the
 * node's sum. It all-reduces that block with the ranks that hold the same block
 * on the other nodes, around a ring, and then the ring inside continues with
 * its second half. All ranks of a node use the network, each for its own part.
 *
 * Nodes of different sizes would cut different blocks; then the first ranks of
 * the nodes represent them (algorithms/hierarchy.h, which also defines the order of
 * operands, the same for both cases).
 *
 * Cost, with N nodes: 2(m-1) * (alpha' + bytes/m * beta') inside, and between
 * 2(N-1) * (alpha + bytes/(m N) * beta) for each rank.
 */

#include "algorithms/algorithms.h"
#include "algorithms/allreduce_rabenseifner.h"
#include "algorithms/hierarchy.h"
#include "plan/topology.h"

static void
hierarchical_compose_equal_nodes(struct composition *composition)
{
    const struct plan_shape node = hierarchy_node_shape(composition->shape);
    const struct hierarchy_halved_allreduce halves = {
        .inside = &algorithm_allreduce_ring,
        .middle = node.size - 1,
        .block = partition_block_span(&node, PLAN_OUTPUT, node.rank),
        .between = &algorithm_allreduce_ring,
    };

    hierarchy_compose_halves(composition, &halves);
}

static struct composition
hierarchical_compose(const struct plan_shape *shape)
{
    static const struct hierarchy hierarchy = {
        .intra_node_first_algorithm = &algorithm_reduce_chain,
        .between = &algorithm_allreduce_ring,
        .intra_node_last_algorithm = &algorithm_broadcast_chain,
    };
    struct composition composition = {.shape = shape};

    if (team_nodes_have_equal_size(shape))
        hierarchical_compose_equal_nodes(&composition);
    else
        hierarchy_compose_allreduce(&composition, &hierarchy);
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

const struct algorithm algorithm_allreduce_hierarchical = {
    .name = "hierarchical",
    .n_rounds = hierarchical_n_rounds,
    .plan_round = hierarchical_plan_round,
    .n_scratch = hierarchical_n_scratch,
};

/*
 * All-reduce by halving, in the nodes.
 *
 * Like the algorithm above, but for buffers of medium size: it uses
 * Rabenseifner's halving and doubling instead of rings, both inside the
 * nodes and between them. In the middle, each rank again holds one block of
 * its node's sum, the same block as the ranks with its index on the other
 * nodes.
 *
 * For nodes of different sizes it uses trees inside and Rabenseifner's
 * algorithm between the first ranks.
 *
 * Cost, with N nodes of m ranks: 2 ceil(log2 m) * alpha' + 2 bytes * beta'
 * inside, and 2 ceil(log2 N) * alpha + 2 bytes/m * beta between.
 */

static void
hierarchical_halving_compose_equal_nodes(struct composition *composition)
{
    const struct plan_shape node = hierarchy_node_shape(composition->shape);
    const struct hierarchy_halved_allreduce halves = {
        .inside = &algorithm_allreduce_rabenseifner,
        .middle = allreduce_rabenseifner_middle_round(&node),
        .block = allreduce_rabenseifner_own_block(&node),
        .between = &algorithm_allreduce_rabenseifner,
    };

    hierarchy_compose_halves(composition, &halves);
}

static struct composition
hierarchical_halving_compose(const struct plan_shape *shape)
{
    static const struct hierarchy hierarchy = {
        .intra_node_first_algorithm = &algorithm_reduce_binomial,
        .between = &algorithm_allreduce_rabenseifner,
        .intra_node_last_algorithm = &algorithm_broadcast_binomial,
    };
    struct composition composition = {.shape = shape};

    if (team_nodes_have_equal_size(shape))
        hierarchical_halving_compose_equal_nodes(&composition);
    else
        hierarchy_compose_allreduce(&composition, &hierarchy);
    return composition;
}

static uint32_t
hierarchical_halving_n_rounds(const struct plan_shape *shape)
{
    const struct composition composition = hierarchical_halving_compose(shape);

    return composition_n_rounds(&composition);
}

static size_t
hierarchical_halving_n_scratch(const struct plan_shape *shape)
{
    const struct composition composition = hierarchical_halving_compose(shape);

    return composition_n_scratch(&composition);
}

static void
hierarchical_halving_plan_round(struct plan *plan,
                                const struct plan_shape *shape,
                                uint32_t round)
{
    const struct composition composition = hierarchical_halving_compose(shape);

    composition_plan_round(&composition, plan, round);
}

const struct algorithm algorithm_allreduce_hierarchical_halving = {
    .name = "hierarchical_halving",
    .n_rounds = hierarchical_halving_n_rounds,
    .plan_round = hierarchical_halving_plan_round,
    .n_scratch = hierarchical_halving_n_scratch,
};

/*
 * All-reduce between nodes, by first ranks.
 *
 * A tree inside each node reduces to its first rank, recursive doubling all-
 * reduces between the first ranks, and the tree inside distributes the
 * result. For small buffers, and for any layout of the nodes.
 * algorithms/hierarchy.h defines the order of operands. On a single node,
 * the exchange happens at the top of the tree itself
 * (algorithms/allreduce_tree.c).
 *
 * Cost: ceil(log2 nodes) * (alpha + bytes * (beta + gamma)) between, and
 * twice ceil(log2 ranks of a node) * (alpha' + bytes * beta') inside.
 */

static struct composition
hierarchical_tree_compose(const struct plan_shape *shape)
{
    static const struct hierarchy hierarchy = {
        .intra_node_first_algorithm = &algorithm_reduce_binomial,
        .between = &algorithm_allreduce_recursive_doubling,
        .intra_node_last_algorithm = &algorithm_broadcast_binomial,
    };
    struct composition composition = {.shape = shape};

    if (team_n_nodes(shape) == 1)
        hierarchy_compose_single_node(&composition, &algorithm_allreduce_tree);
    else
        hierarchy_compose_allreduce(&composition, &hierarchy);
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

const struct algorithm algorithm_allreduce_hierarchical_tree = {
    .name = "hierarchical_tree",
    .n_rounds = hierarchical_tree_n_rounds,
    .plan_round = hierarchical_tree_plan_round,
    .n_scratch = hierarchical_tree_n_scratch,
};
