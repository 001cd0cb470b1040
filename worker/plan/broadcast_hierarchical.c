/*
 * plan/broadcast_hierarchical.c - broadcast between the nodes, then inside
 *
 * The root stands for its node, the first rank for any other; chains between
 * them and from each through its node. Every link between two nodes carries
 * the buffer once, however the ranks are numbered. The engine moves bytes on
 * as they come, so that both chains are under way at once.
 *
 * Cost: as broadcast_chain.c, with the slow links that there must be.
 */

#include "plan/algorithms.h"
#include "plan/hierarchy.h"

static struct composition
compose(const struct plan_shape *shape)
{
    static const struct hierarchy hierarchy = {
        .between = &algorithm_broadcast_chain,
        .inside_last = &algorithm_broadcast_chain,
    };
    struct composition composition = {.shape = shape};

    hierarchy_broadcast(&composition, &hierarchy);
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

const struct algorithm algorithm_broadcast_hierarchical = {
    .name = "hierarchical",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
