/*
 * plan/algorithms.h - all algorithms there are; each file tells its own idea
 *
 * Each has its row in plan/registry.c, by which it is found.
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
extern const struct algorithm algorithm_allreduce_recursive_doubling;
extern const struct algorithm algorithm_allreduce_rabenseifner;
extern const struct algorithm algorithm_allreduce_pairwise;
extern const struct algorithm algorithm_allreduce_flat;
extern const struct algorithm algorithm_allreduce_flat_blocks;
extern const struct algorithm algorithm_allreduce_direct;
extern const struct algorithm algorithm_allreduce_hierarchical;
extern const struct algorithm algorithm_allreduce_hierarchical_halving;
extern const struct algorithm algorithm_allreduce_hierarchical_tree;
/* In no row of the registry: a part of the one before. */
extern const struct algorithm algorithm_allreduce_tree;

/* In: all given blocks. Out: this rank's, from element 0. In place, output
 * holds all blocks, and its first elements become the result. */
extern const struct algorithm algorithm_reduce_scatter_ring;
extern const struct algorithm algorithm_reduce_scatter_halving;
extern const struct algorithm algorithm_reduce_scatter_pairwise;
extern const struct algorithm algorithm_reduce_scatter_flat;
extern const struct algorithm algorithm_reduce_scatter_direct;

/* In: this rank's given block. Out: all. In place, the rank's own block
 * already stands at its place in output. */
extern const struct algorithm algorithm_allgather_ring;
extern const struct algorithm algorithm_allgather_bruck;
extern const struct algorithm algorithm_allgather_tree;
extern const struct algorithm algorithm_allgather_flat;
extern const struct algorithm algorithm_allgather_direct;
extern const struct algorithm algorithm_allgather_hierarchical;
extern const struct algorithm algorithm_allgather_hierarchical_tree;

/* count elements, in at the root (in place: output), out everywhere. */
extern const struct algorithm algorithm_broadcast_chain;
extern const struct algorithm algorithm_broadcast_binomial;
extern const struct algorithm algorithm_broadcast_flat;
extern const struct algorithm algorithm_broadcast_direct;
extern const struct algorithm algorithm_broadcast_hierarchical;
extern const struct algorithm algorithm_broadcast_hierarchical_tree;

/* count elements in; out at the root only. */
extern const struct algorithm algorithm_reduce_chain;
extern const struct algorithm algorithm_reduce_binomial;
extern const struct algorithm algorithm_reduce_flat;
extern const struct algorithm algorithm_reduce_direct;
extern const struct algorithm algorithm_reduce_hierarchical;
extern const struct algorithm algorithm_reduce_hierarchical_tree;

/* In: this rank's given block. Out, at the root only: all. In place, the
 * root's own block already stands at its place in output; elsewhere output is
 * the block, from element 0, and stays as it was. */
extern const struct algorithm algorithm_gather_linear;
extern const struct algorithm algorithm_gather_binomial;

/* In, at the root only: all given blocks. Out: this rank's, from element 0. In
 * place, the root's output holds all blocks and stays as it was. */
extern const struct algorithm algorithm_scatter_linear;
extern const struct algorithm algorithm_scatter_binomial;

/* In: one given block for each rank. Out: one from each, by recv_counts where
 * there are counts. In place: output holds the blocks to send, then those that
 * came; whatever stood beyond them is unspecified. */
extern const struct algorithm algorithm_alltoall_pairwise;
extern const struct algorithm algorithm_alltoall_bruck;  /* even blocks only */
extern const struct algorithm algorithm_alltoall_flat;   /* the same */
extern const struct algorithm algorithm_alltoall_direct; /* the same */

/* count elements in; out: the reduction of ranks 0 to this one (scan), or to
 * the one before it (exscan: rank 0's output stays as it was). */
extern const struct algorithm algorithm_scan_chain;
extern const struct algorithm algorithm_scan_doubling;
extern const struct algorithm algorithm_exscan_chain;
extern const struct algorithm algorithm_exscan_doubling;

/*
 * No user buffers. Needs an element size and a reduction, any: a byte and
 * HOOP_BOR will do. Element 0 of the scratch is sent and may hold anything.
 */
extern const struct algorithm algorithm_barrier_dissemination;
extern const struct algorithm algorithm_barrier_tree;
extern const struct algorithm algorithm_barrier_flat; /* no scratch */

#endif
