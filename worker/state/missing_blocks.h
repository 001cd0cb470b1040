/*
 * state/missing_blocks.h - which blocks a rank lacks, a bit for each
 *
 * As it travels: the lowest bit of the first byte is block 0's.
 */

#ifndef STATE_MISSING_BLOCKS_H
#define STATE_MISSING_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "state/tensor_manifest.h"

/* Bytes of the bits of all blocks. */
size_t
missing_blocks_n_bytes(const struct tensor_manifest *tensor_manifest);

/* What it comes to. */
struct missing_blocks_sum {
    uint64_t n_blocks;
    uint64_t n_bytes;
};

/* Of tensor_manifest, whose blocks should have the hashes truth[]. missing_blocks, the bitmap, is zeroed. */
struct missing_blocks_sum
missing_blocks_find(const struct tensor_manifest *tensor_manifest,
                    const struct digest_wide *truth,
                    uint8_t *missing_blocks);

static inline bool
missing_blocks_has(const uint8_t *missing_blocks, uint64_t number)
{
    return missing_blocks[number / 8] >> (number % 8) & 1;
}

#endif
