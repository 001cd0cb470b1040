/*
 * parallel/blocks.h - a dense tensor as one block for each rank
 *
 * Pure. One or two dimensions are cut in equal parts; a block is what a rank
 * has of each. Numbers count along the first of the dimensions first.
 */

#ifndef PARALLEL_BLOCKS_H
#define PARALLEL_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/tensor.h"

enum {
    CUTS_MAX = 2,
};

struct cuts {
    uint32_t n_cuts;
    struct cut {
        uint32_t dim;
        uint32_t n_parts;
    } cuts[CUTS_MAX];
};

/* How many blocks. */
uint32_t
cuts_count(const struct cuts *cuts);

/* From the shape of the whole to that of a block, or back, in place.
 * Handle: HOOP_E_INVALID (a size that cannot be cut; more than 2^64). */
enum hoop_status
cuts_divide(const struct cuts *cuts, struct hoop_shape *shape);
enum hoop_status
cuts_multiply(const struct cuts *cuts, struct hoop_shape *shape);

/* Whether blocks do not lie one behind the other in the whole tensor, which
 * has elements. */
bool
cuts_interleave(const struct cuts *cuts, const struct hoop_shape *whole);

/* Copies block number of whole to part, or back. The two do not overlap. */
void
block_take(const struct cuts *cuts,
           const struct hoop_tensor *whole,
           uint32_t number,
           void *part);
void
block_put(const struct cuts *cuts,
          const struct hoop_tensor *whole,
          uint32_t number,
          const void *part);

/* All blocks, to or from where they lie one behind the other. */
void
blocks_divide(const struct cuts *cuts,
              const struct hoop_tensor *whole,
              void *parts);
void
blocks_join(const struct cuts *cuts,
            const struct hoop_tensor *whole,
            const void *parts);

#endif
