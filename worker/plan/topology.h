/*
 * plan/topology.h - neighbours in rings and pairs, and how a buffer is cut
 *
 * Pure arithmetic. Ranks and blocks are counted modulo the size of the group.
 */

#ifndef PLAN_TOPOLOGY_H
#define PLAN_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"

uint32_t
ring_next(const struct plan_shape *shape);
uint32_t
ring_prev(const struct plan_shape *shape);

/* The rank (and thus also the block) n_steps before this one. */
uint32_t
ring_rank_before(const struct plan_shape *shape, uint32_t n_steps);

/*
 * Which side a partial result that has come around the ring is on. Lower ranks
 * are on the left: a result arrives from the ranks before this one, except at
 * rank 0, where it comes from higher ranks.
 */
enum plan_operand_side
ring_operand_side(const struct plan_shape *shape);

/* log2 of the size, rounded up. */
uint32_t
doubling_round_count(const struct plan_shape *shape);

/*
 * Folding to a power of two. Of size ranks, the largest possible power of two,
 * 2^levels, are active. Each of the others is idle and is represented by an
 * active neighbour: rank 2i+1 by rank 2i, counted from rank 0. The active ranks
 * thus represent contiguous ranks, in order:
 *
 *     size 6:  (0 1) (2 3) 4 5      active: 0 2 4 5
 */
uint32_t
fold_level_count(const struct plan_shape *shape);
bool
fold_is_active(const struct plan_shape *shape);
/* The other rank of the pair, or the rank itself if it is in none. */
uint32_t
fold_partner(const struct plan_shape *shape);
/* For an active rank: the active rank whose index among the active ranks
 * differs only in bit level (< fold_level_count). */
uint32_t
fold_exchange_peer(const struct plan_shape *shape, uint32_t level);

/* All shape->count elements. */
struct plan_span
whole_buffer_span(const struct plan_shape *shape, enum plan_buffer buffer);

/* One of the size blocks into which the library cuts shape->count elements, at
 * multiples of the granule, with sizes as equal as that allows. */
struct plan_span
partition_block_span(const struct plan_shape *shape,
                     enum plan_buffer buffer,
                     uint32_t block);

/* n_blocks such blocks, beginning with block first. */
struct plan_span
partition_block_run_span(const struct plan_shape *shape,
                         enum plan_buffer buffer,
                         uint32_t first,
                         uint32_t n_blocks);

/* One of the blocks that the caller laid out contiguously: of sizes
 * shape->counts or, if that is NULL, shape->count each. */
struct plan_span
caller_block_span(const struct plan_shape *shape,
                  enum plan_buffer buffer,
                  uint32_t block);

/* n_blocks such blocks, beginning with block first. */
struct plan_span
caller_block_run_span(const struct plan_shape *shape,
                      enum plan_buffer buffer,
                      uint32_t first,
                      uint32_t n_blocks);

/* One of the blocks that an alltoallv receives, laid out by
 * shape->recv_counts. */
struct plan_span
recv_block_span(const struct plan_shape *shape,
                enum plan_buffer buffer,
                uint32_t block);

/* Elements of the caller's largest block. */
size_t
caller_block_max_count(const struct plan_shape *shape);

#endif
