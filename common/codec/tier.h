/*
 * codec/tier.h - kernels by what the processor can do; private to codec/
 *
 * Each is compiled once for every tier, with what the vectoriser may use there.
 * What comes out is the same, bit by bit: ranks on unlike machines must agree.
 */

#ifndef CODEC_TIER_H
#define CODEC_TIER_H

#include <stddef.h>

#include "codec/loss.h"
#include "codec/loss_kernels.h"
#include "codec/planes.h"

enum {
    TIER_WORD_SIZES = 4, /* 1, 2, 4 and 8 bytes */
};

struct tier {
    const struct loss_kernel *losses[LOSS_COUNT];
    const struct planes_kernel *planes[TIER_WORD_SIZES];
};

/* The best one that runs here is tier 0. NULL: there are no more. */
const struct tier *
tier_get(size_t i);

#endif
