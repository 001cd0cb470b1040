/*
 * plan/topology.h - who stands where, and how a buffer is cut
 *
 * Pure arithmetic. Ranks and blocks count modulo the size of the group.
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

/* The rank (and the block of that rank) n_steps before this one. */
uint32_t
ring_back(const struct plan_shape *shape, uint32_t n_steps);

/*
 * Where a partial result that has come around the ring stands. Lower ranks
 * stand left: what arrives holds the ranks before this one, except at rank 0,
 * where all of it comes from higher ranks.
 */
enum plan_side
ring_side(const struct plan_shape *shape);

/* How often one must be doubled to reach size: log2, rounded up. */
uint32_t
doubling_count(const struct plan_shape *shape);

/*
 * Folding to a power of two. Of size ranks, 2^levels are active, as many as can
 * be. The others rest, each beside the active one that stands for it: rank 2i+1
 * beside 2i, from rank 0 on. So the active ranks stand for neighbours, in the
 * order of the ranks:
 *
 *     size 6:  (0 1) (2 3) 4 5      active: 0 2 4 5
 */
uint32_t
fold_levels(const struct plan_shape *shape);
bool
fold_is_active(const struct plan_shape *shape);
/* The other one of the pair; the rank itself when it is in none. */
uint32_t
fold_partner(const struct plan_shape *shape);
/* For an active rank: the active one whose place among them differs in the bit
 * of level (< fold_levels) only. */
uint32_t
fold_peer(const struct plan_shape *shape, uint32_t level);

/* All shape->count elements. */
struct plan_span
block_whole(const struct plan_shape *shape, enum plan_buffer buffer);

/* One of size blocks into which the library cuts shape->count elements, on
 * multiples of the granule, sizes as equal as these allow. */
struct plan_span
block_cut(const struct plan_shape *shape,
          enum plan_buffer buffer,
          uint32_t block);

/* n_blocks of them, from block first on. */
struct plan_span
block_cut_run(const struct plan_shape *shape,
              enum plan_buffer buffer,
              uint32_t first,
              uint32_t n_blocks);

/* One of the blocks that the caller laid out: shape->counts one after another,
 * or, when that is NULL, size blocks of shape->count. */
struct plan_span
block_given(const struct plan_shape *shape,
            enum plan_buffer buffer,
            uint32_t block);

/* n_blocks of them, from block first on. */
struct plan_span
block_given_run(const struct plan_shape *shape,
                enum plan_buffer buffer,
                uint32_t first,
                uint32_t n_blocks);

/* The same of what an alltoallv takes: by shape->recv_counts. */
struct plan_span
block_received(const struct plan_shape *shape,
               enum plan_buffer buffer,
               uint32_t block);

/* Elements of the largest given block. */
size_t
block_given_max(const struct plan_shape *shape);

#endif
