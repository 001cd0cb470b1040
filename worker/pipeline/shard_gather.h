/*
 * pipeline/shard_gather.h - splits tensors into shares, and gathers them again
 *
 * Ranks that hold the same tensor may send one share each. The receivers gather
 * the shares among each other.
 */

#ifndef PIPELINE_SHARD_GATHER_H
#define PIPELINE_SHARD_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/tensor.h"

#include "pipeline/transfer.h"

/* Gathers the lists of one transfer that were received in shares. Every rank
 * sends its share to all others of tensor_parallel, or nothing of a tensor that
 * is not cut. For a list that has failed on this rank it sends nothing and
 * refuses what arrives, with the text of the failure, so that the list fails on
 * the other ranks, too, and no rank waits in vain. This also covers a list of
 * which only the sender used shares. A failure of a list is stored in ends
 * unless there was one before. */
void
shard_gather(const struct tensor_transfer *tensor_transfers,
             size_t n_transfers,
             struct transfer_result ends[NEIGHBOUR_N_DIRECTIONS]);

/*
 * Each of these ranks sends one share, and the receivers gather the shares
 * again. Share r of n is the r-th of n equal parts of the flat tensor. The
 * shape of a share follows from that of the tensor, so that two sides that
 * expect different shapes notice, as far as the share can tell.
 */

/* Returns whether a tensor of count elements is cut for n_ranks ranks. */
bool
shard_can_split(size_t count, uint32_t n_ranks);

/* Returns share rank of n_ranks. It points into tensor, which is dense and
 * cut. */
struct hoop_tensor
shard_of_rank(const struct hoop_tensor *tensor,
              uint32_t rank,
              uint32_t n_ranks);

/* Returns what stands for a share of a tensor that is not cut. It has no
 * elements, but as many of the tensor's sizes as fit, so that ranks that expect
 * different tensors notice. */
struct hoop_tensor
shard_placeholder(const struct hoop_tensor *tensor);

/* Returns a share without elements that fits no tensor's share. */
struct hoop_tensor
shard_make_empty(enum hoop_dtype dtype);

#endif
