/*
 * algorithms/algorithms.h - declares every algorithm; each file explains its
 * own
 *
 * algorithms/registry.c has one row for each algorithm that can be chosen.
 *
 * The comments below say what PLAN_INPUT and PLAN_OUTPUT (plan.h) hold before
 * and after the call, out of place and in place. Elements of PLAN_OUTPUT that
 * are not mentioned keep their values, and PLAN_INPUT is never written. In a
 * communicator of one rank the plan copies or has no steps, and no step is
 * final: the AVG of one value is that value.
 */

#ifndef ALGORITHMS_ALGORITHMS_H
#define ALGORITHMS_ALGORITHMS_H

#include "plan/plan.h"

/* Input: count elements. Output: count elements. */
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
/* Not in the registry: hierarchical_tree uses it on a single node. */
extern const struct algorithm algorithm_allreduce_tree;

/* Input: the caller's blocks, one per rank. Output: this rank's block, from
 * element 0. In place, the output holds all blocks, and its first elements
 * become the result. */
extern const struct algorithm algorithm_reduce_scatter_ring;
extern const struct algorithm algorithm_reduce_scatter_halving;
extern const struct algorithm algorithm_reduce_scatter_pairwise;
extern const struct algorithm algorithm_reduce_scatter_flat;
extern const struct algorithm algorithm_reduce_scatter_direct;

/* Input: this rank's block. Output: all blocks. In place, the rank's block
 * already stands at its final position in the output. */
extern const struct algorithm algorithm_allgather_ring;
extern const struct algorithm algorithm_allgather_bruck;
extern const struct algorithm algorithm_allgather_tree;
extern const struct algorithm algorithm_allgather_flat;
extern const struct algorithm algorithm_allgather_direct;
extern const struct algorithm algorithm_allgather_hierarchical;
extern const struct algorithm algorithm_allgather_hierarchical_tree;

/* Input, at the root only: count elements (in place: in the output). Output:
 * count elements on every rank. */
extern const struct algorithm algorithm_broadcast_chain;
extern const struct algorithm algorithm_broadcast_binomial;
extern const struct algorithm algorithm_broadcast_flat;
extern const struct algorithm algorithm_broadcast_direct;
extern const struct algorithm algorithm_broadcast_hierarchical;
extern const struct algorithm algorithm_broadcast_hierarchical_tree;

/* Input: count elements. Output, at the root only: count elements. */
extern const struct algorithm algorithm_reduce_chain;
extern const struct algorithm algorithm_reduce_binomial;
extern const struct algorithm algorithm_reduce_flat;
extern const struct algorithm algorithm_reduce_direct;
extern const struct algorithm algorithm_reduce_hierarchical;
extern const struct algorithm algorithm_reduce_hierarchical_tree;

/* Input: this rank's block. Output, at the root only: all blocks. In place, the
 * root's block already stands at its final position in the output; on other
 * ranks the output holds the block, from element 0, and does not change. */
extern const struct algorithm algorithm_gather_linear;
extern const struct algorithm algorithm_gather_binomial;

/* Input, at the root only: all blocks. Output: this rank's block, from element
 * 0. In place, the root's output holds all blocks and does not change. */
extern const struct algorithm algorithm_scatter_linear;
extern const struct algorithm algorithm_scatter_binomial;

/* Input: one block for each rank. Output: one block from each rank, of the
 * sizes in recv_counts if blocks differ. In place, the output holds the blocks
 * to send and then the blocks received; elements beyond those received are
 * unspecified. */
extern const struct algorithm algorithm_alltoall_pairwise;
extern const struct algorithm algorithm_alltoall_bruck;  /* even blocks only */
extern const struct algorithm algorithm_alltoall_flat;   /* even blocks only */
extern const struct algorithm algorithm_alltoall_direct; /* even blocks only */

/* Input: count elements. Output: the reduction of ranks 0 to this one (scan),
 * or of ranks 0 to the one before this (exscan; rank 0's output does not
 * change). */
extern const struct algorithm algorithm_scan_chain;
extern const struct algorithm algorithm_scan_doubling;
extern const struct algorithm algorithm_exscan_chain;
extern const struct algorithm algorithm_exscan_doubling;

/*
 * A barrier has no user buffers. It needs an element size and any reduction; a
 * byte and HOOP_BOR will do. Element 0 of the scratch is sent and may hold
 * anything.
 */
extern const struct algorithm algorithm_barrier_dissemination;
extern const struct algorithm algorithm_barrier_tree;
extern const struct algorithm algorithm_barrier_flat; /* needs no scratch */

#endif
