/*
 * pipeline/shard.h - equal shares of a tensor that several ranks hold
 *
 * Each of these ranks sends one share, and the receivers gather the shares
 * again. Share r of n is the r-th of n equal parts of the flat tensor. The
 * shape of a share follows from that of the tensor, so that two sides that
 * expect different shapes notice, as far as the share can tell.
 */

#ifndef PIPELINE_SHARD_H
#define PIPELINE_SHARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/tensor.h"

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
shard_empty(enum hoop_dtype dtype);

#endif
