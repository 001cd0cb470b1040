/*
 * plan/hierarchy.h - collectives in three parts: in the nodes, between, inside
 *
 * Each node has a leader: the root where it is, else the first rank. In the nodes
 * what is there is brought together at the leaders, these do among themselves
 * what is to be done, and in the nodes the leaders give it to the others. So what
 * crosses the network crosses it once for each node.
 *
 * How each part is done is the caller's choice: trees for small buffers, chains
 * and rings for large ones. The functions fill in a composition that has its
 * shape and is else zeroed.
 *
 * Order of a reduction: first the ranks of a node, as the algorithm inside
 * does it, then the nodes, by their lowest rank, as the one between does it.
 * Lower ranks hence stand left if each node has ranks side by side; if not,
 * lower ones of each node, then lower nodes. It is the same for all ranks.
 */

#ifndef PLAN_HIERARCHY_H
#define PLAN_HIERARCHY_H

#include "plan/composition.h"
#include "plan/plan.h"

/* The parts in order; NULL where a collective has none. */
struct hierarchy {
    const struct algorithm *inside_first;
    const struct algorithm *between;
    const struct algorithm *inside_last;
};

/* Where all ranks are on one node: algorithm does it all. */
void
hierarchy_inside(struct composition *composition,
                 const struct algorithm *algorithm);

/* Reduce, all-reduce, broadcast. */
void
hierarchy_allreduce(struct composition *composition,
                    const struct hierarchy *hierarchy);

/*
 * An all-reduce inside that can be stopped: when its rounds up to the middle
 * are through, each rank holds one finished block.
 */
struct hierarchy_halves {
    const struct algorithm *inside;
    uint32_t middle;
    struct plan_span block; /* in the output */
    const struct algorithm *between;
};

/* The shape that algorithms inside the rank's node see. */
struct plan_shape
hierarchy_shape_inside(const struct plan_shape *shape);

/*
 * For nodes of equal sizes, without leaders: the first half inside, an all-reduce
 * of each block between those that hold it, one on each node, the second half
 * inside.
 */
void
hierarchy_allreduce_halves(struct composition *composition,
                           const struct hierarchy_halves *halves);

/* Gather, all-gather, broadcast. The first two take even blocks, send them
 * from their places and use no scratch. */
void
hierarchy_allgather(struct composition *composition,
                    const struct hierarchy *hierarchy);

/* -, broadcast, broadcast. */
void
hierarchy_broadcast(struct composition *composition,
                    const struct hierarchy *hierarchy);

/* Reduce, reduce, -. A leader that is not the root keeps its node's sum in
 * scratch: nobody's buffer changes but the root's. */
void
hierarchy_reduce(struct composition *composition,
                 const struct hierarchy *hierarchy);

#endif
