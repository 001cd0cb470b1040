/* pipeline/shard_gather.h - gathers received shares to whole tensors */

#ifndef PIPELINE_SHARD_GATHER_H
#define PIPELINE_SHARD_GATHER_H

#include <stddef.h>

#include "pipeline/tensor_transfer.h"

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
             struct transfer_result ends[TRANSFER_WAYS]);

#endif
