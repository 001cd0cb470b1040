/*
 * plan/algorithms.h - all algorithms there are; each file tells its own idea
 *
 * In place and not (plan.h): what PLAN_INPUT and PLAN_OUTPUT hold is said for
 * each; elements of PLAN_OUTPUT that are not named stay as they were, and
 * PLAN_INPUT is never written. One rank alone copies or has no steps, and
 * nothing is final there: AVG of one value is that value.
 */

#ifndef PLAN_ALGORITHMS_H
#define PLAN_ALGORITHMS_H

#include "plan/plan.h"

/* count elements in, count elements out. */
extern const struct algorithm algorithm_allreduce_ring;

/* In: all given blocks. Out: this rank's, from element 0. In place, output
 * holds all blocks, and its first elements become the result. */
extern const struct algorithm algorithm_reduce_scatter_ring;

/* In: this rank's given block. Out: all. In place, the rank's own block
 * already stands at its place in output. */
extern const struct algorithm algorithm_allgather_ring;

/* count elements, in at the root (in place: output), out everywhere. */
extern const struct algorithm algorithm_broadcast_chain;

/* count elements in; out at the root only. */
extern const struct algorithm algorithm_reduce_chain;

/*
 * No user buffers. Needs an element size and a reduction, any: a byte and
 * HOOP_BOR will do. Element 0 of the scratch is sent and may hold anything.
 */
extern const struct algorithm algorithm_barrier_dissemination;

#endif
