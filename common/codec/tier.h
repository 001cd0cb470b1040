/*
 * codec/tier.h - the kernels for each processor capability; private to codec/
 *
 * Each kernel is compiled once for every tier, with the instructions available
 * there. The results are the same, bit by bit, since ranks on different
 * machines must agree.
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

/* Tier 0 is the best one that runs here. NULL: there are no more. */
const struct tier *
tier_get(size_t i);

#endif
