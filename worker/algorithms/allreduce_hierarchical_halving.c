/*
 * algorithms/allreduce_hierarchical_halving.c - all-reduce by halving, in the nodes
 *
 * Like allreduce_hierarchical.c, but for buffers of medium size: it uses
 * Rabenseifner's halving and doubling instead of rings, both inside the nodes
 * and between them. In the middle, each rank again holds one block of its
 * node's sum, the same block as the ranks with its index on the other nodes.
 *
 * For nodes of different sizes it uses trees inside and Rabenseifner's
 * algorithm between the first ranks.
 *
 * Cost, with N nodes of m ranks: 2 ceil(log2 m) * alpha' + 2 bytes * beta'
 * inside, and 2 ceil(log2 N) * alpha + 2 bytes/m * beta between.
 */

#include "algorithms/algorithms.h"
#include "algorithms/allreduce_rabenseifner.h"
#include "algorithms/hierarchy.h"

static void
compose_equal_nodes(struct composition *composition)
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
compose(const struct plan_shape *shape)
{
    static const struct hierarchy hierarchy = {
        .inside_first = &algorithm_reduce_binomial,
        .between = &algorithm_allreduce_rabenseifner,
        .inside_last = &algorithm_broadcast_binomial,
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

const struct algorithm algorithm_allreduce_hierarchical_halving = {
    .name = "hierarchical_halving",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
