/*
 * state/gaps.h - which blocks a rank lacks, a bit for each
 *
 * As it travels: the lowest bit of the first byte is block 0's.
 */

#ifndef STATE_GAPS_H
#define STATE_GAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "state/inventory.h"

/* Bytes of the bits of all blocks. */
size_t
gaps_bytes(const struct inventory *inventory);

/* What it comes to. */
struct gaps_sum {
    uint64_t n_blocks;
    uint64_t n_bytes;
};

/* Of inventory, whose blocks should have the hashes truth[]. gaps is zeroed. */
struct gaps_sum
gaps_find(const struct inventory *inventory,
          const struct digest_wide *truth,
          uint8_t *gaps);

static inline bool
gaps_has(const uint8_t *gaps, uint64_t number)
{
    return gaps[number / 8] >> (number % 8) & 1;
}

#endif
