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
#include "algorithms/hierarchy.h"
#include "plan/topology.h"

static void
compose_equal_nodes(struct composition *composition)
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
compose(const struct plan_shape *shape)
{
    static const struct hierarchy hierarchy = {
        .inside_first = &algorithm_reduce_chain,
        .between = &algorithm_allreduce_ring,
        .inside_last = &algorithm_broadcast_chain,
    };
    struct composition composition = {.shape = shape};

    if (team_nodes_have_equal_size(shape))
        compose_equal_nodes(&composition);
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

const struct algorithm algorithm_allreduce_hierarchical = {
    .name = "hierarchical",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
