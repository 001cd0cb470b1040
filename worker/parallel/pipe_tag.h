/*
 * parallel/pipe_tag.h - what a message of a pipeline is, instead of a tag
 *
 * Directions and lanes have tags of their own, so that no message between two
 * ranks can meet the wrong receive.
 */

#ifndef PARALLEL_PIPE_TAG_H
#define PARALLEL_PIPE_TAG_H

#include <stdint.h>

#include "coll/tags.h"

enum pipe_kind {
    PIPE_ACTIVATION, /* from a stage to the next */
    PIPE_GRADIENT,   /* ... to the one before */
    /* Shares of them, among the ranks that gather. */
    PIPE_ACTIVATION_SHARE,
    PIPE_GRADIENT_SHARE,
    /* Behind a list in shares: taken when all of them have been gathered. */
    PIPE_ACTIVATION_CLOSING,
    PIPE_GRADIENT_CLOSING,
};

enum {
    PIPE_LANE_BITS = 24
};

static const uint32_t PIPE_LANES = (uint32_t)1 << PIPE_LANE_BITS;

/* lane is below PIPE_LANES. */
static inline uint64_t
pipe_tag(enum pipe_kind kind, uint32_t lane)
{
    return tag_of(TAG_PIPELINE, (uint64_t)kind << PIPE_LANE_BITS | lane);
}

#endif
