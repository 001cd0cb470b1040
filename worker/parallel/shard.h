/*
 * parallel/shard.h - a tensor's equal shares, which ranks that hold the same
 * send each of and gather again
 *
 * Share r of n is the r-th of n equal runs of the flat tensor. It has a shape
 * that follows from the tensor's, so that two sides which do not mean the same
 * shape find out, as far as it can tell.
 */

#ifndef PARALLEL_SHARD_H
#define PARALLEL_SHARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/tensor.h"

/* Whether a tensor of count elements is cut for n_ranks ranks. */
bool
shard_is_cut(size_t count, uint32_t n_ranks);

/* Share rank of n_ranks: points into tensor, which is dense and is cut. */
struct hoop_tensor
shard_of(const struct hoop_tensor *tensor, uint32_t rank, uint32_t n_ranks);

/* Instead of one, of a tensor that is not cut: no elements, but the tensor's sizes,
 * as many as fit, so that ranks which do not mean the same find out. */
struct hoop_tensor
shard_uncut(const struct hoop_tensor *tensor);

/* Of nobody: no elements, so that it fits none. */
struct hoop_tensor
shard_none(enum hoop_dtype dtype);

#endif
