/*
 * tensor_parallel/blocks.h - a dense tensor as one block for each rank
 *
 * The functions are pure. One or two dimensions are cut into equal parts; a
 * block is one part along each of them. Block numbers are in mixed radix: the
 * first cut's part varies fastest.
 */

#ifndef TENSOR_PARALLEL_BLOCKS_H
#define TENSOR_PARALLEL_BLOCKS_H

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

/* Returns the number of blocks. */
uint32_t
cuts_n_blocks(const struct cuts *cuts);

/* Replaces the shape of the whole tensor by that of a block, or the other way
 * round.
 * Handle: HOOP_E_INVALID (a size does not divide; more than 2^64 elements). */
enum hoop_status
cuts_divide_shape(const struct cuts *cuts, struct hoop_shape *shape);
enum hoop_status
cuts_multiply_shape(const struct cuts *cuts, struct hoop_shape *shape);

/* Returns whether blocks are not contiguous in the whole tensor, one after the
 * other in order. The result has no meaning for a tensor without elements. */
bool
cuts_is_noncontiguous(const struct cuts *cuts, const struct hoop_shape *whole);

/* Copy the block of that number from whole to part, where it is dense, or back.
 * The two must not overlap. */
void
block_copy_out(const struct cuts *cuts,
               const struct hoop_tensor *whole,
               uint32_t number,
               void *part);
void
block_copy_in(const struct cuts *cuts,
              const struct hoop_tensor *whole,
              uint32_t number,
              const void *part);

/* Copy all blocks from whole to parts, where they are dense and one after the
 * other, or back. The two must not overlap. */
void
blocks_pack_parts(const struct cuts *cuts,
                  const struct hoop_tensor *whole,
                  void *parts);
void
blocks_unpack_parts(const struct cuts *cuts,
                    const struct hoop_tensor *whole,
                    const void *parts);

#endif
