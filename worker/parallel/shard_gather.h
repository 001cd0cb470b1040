/* parallel/shard_gather.h - shares that came become whole tensors again */

#ifndef PARALLEL_SHARD_GATHER_H
#define PARALLEL_SHARD_GATHER_H

#include <stddef.h>

#include "parallel/tensor_transfer.h"

/*
 * Of the lists of one transfer those that were received in shares: every rank
 * that shares sends its shard to all others, of a tensor that is not cut nothing.
 * For a list that has failed here it sends nothing and refuses what comes, with
 * the text of how it has ended, so that the others fail, too; also where only
 * its sender meant shares, and for which no rank is to wait. ends has a list's
 * failure if it had none.
 */
void
shard_gather(const struct tensor_transfer *tensor_transfers,
             size_t n_parcels,
             struct transfer_end ends[TRANSFER_WAYS]);

#endif
