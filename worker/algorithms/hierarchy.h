/*
 * algorithms/hierarchy.h - collectives in three parts: inside nodes, between, inside
 *
 * Each node has a leader: the root on its own node, the first rank on any other
 * node. First each node collects its data at its leader, then the leaders run
 * the collective among themselves, and last each leader distributes the result
 * in its node. Data therefore crosses the network once per node.
 *
 * The caller chooses the algorithm of each part: trees for small buffers,
 * chains and rings for large ones. The functions fill in a composition, which
 * must be zeroed except for its shape.
 *
 * Order of a reduction: first the ranks of each node, in the order of the
 * algorithm used inside, then the nodes, by their lowest rank, in the order of
 * the algorithm used between. Lower ranks are thus on the left if the ranks of
 * each node are contiguous; otherwise they are ordered by node first. The order
 * is the same on all ranks.
 */

#ifndef ALGORITHMS_HIERARCHY_H
#define ALGORITHMS_HIERARCHY_H

#include "algorithms/composition.h"
#include "plan/plan.h"

/* The algorithms of the parts; NULL where a collective has no such part. */
struct hierarchy {
    const struct algorithm *inside_first;
    const struct algorithm *between;
    const struct algorithm *inside_last;
};

/* For a single node: algorithm does everything. */
void
hierarchy_compose_single_node(struct composition *composition,
                              const struct algorithm *algorithm);

/* The parts are a reduce, an all-reduce and a broadcast. */
void
hierarchy_compose_allreduce(struct composition *composition,
                            const struct hierarchy *hierarchy);

/*
 * An all-reduce that can be interrupted: after its rounds before middle, each
 * rank of the node holds one finished block.
 */
struct hierarchy_halved_allreduce {
    const struct algorithm *inside;
    uint32_t middle;
    struct plan_span block; /* this rank's finished block, in the output */
    const struct algorithm *between;
};

/* The shape that algorithms inside the rank's node see. */
struct plan_shape
hierarchy_node_shape(const struct plan_shape *shape);

/*
 * For nodes of equal sizes; uses no leaders. The first half of the all-reduce
 * runs inside each node, then the ranks that hold the same block, one per node,
 * all-reduce it, then the second half runs inside each node.
 */
void
hierarchy_compose_halves(struct composition *composition,
                         const struct hierarchy_halved_allreduce *halves);

/* The parts are a gather, an all-gather and a broadcast. The first two must
 * take even blocks, send them from their final positions and use no scratch. */
void
hierarchy_compose_allgather(struct composition *composition,
                            const struct hierarchy *hierarchy);

/* There is no first part; the others are broadcasts. */
void
hierarchy_compose_broadcast(struct composition *composition,
                            const struct hierarchy *hierarchy);

/* The first two parts are reduces; there is no last part. A leader that is not
 * the root keeps its node's sum in scratch, so that only the root's buffer
 * changes. */
void
hierarchy_compose_reduce(struct composition *composition,
                         const struct hierarchy *hierarchy);

#endif
