/*
 * state_sync/missing_blocks.h - a bitmap of the blocks that a rank lacks
 *
 * It is sent as it is: block 0 is the lowest bit of the first byte.
 */

#ifndef STATE_SYNC_MISSING_BLOCKS_H
#define STATE_SYNC_MISSING_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "state_sync/tensor_manifest.h"

/* The size of the bitmap for all blocks. */
size_t
missing_blocks_bitmap_bytes(const struct state_manifest *tensor_manifest);

/* The totals of a bitmap. */
struct missing_blocks_totals {
    uint64_t n_blocks;
    uint64_t n_bytes;
};

/* Set the bits of the blocks whose hashes differ from newest_digests[].
 * missing_blocks must be zeroed. */
struct missing_blocks_totals
missing_blocks_find(const struct state_manifest *tensor_manifest,
                    const struct digest_128 *newest_digests,
                    uint8_t *missing_blocks);

static inline bool
missing_blocks_has(const uint8_t *missing_blocks, uint64_t number)
{
    return missing_blocks[number / 8] >> (number % 8) & 1;
}

#endif
