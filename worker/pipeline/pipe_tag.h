/*
 * pipeline/pipe_tag.h - the tags of a pipeline's messages
 *
 * Each direction and each lane has its own tag, so that no message between two
 * ranks can match the wrong receive.
 */

#ifndef PIPELINE_PIPE_TAG_H
#define PIPELINE_PIPE_TAG_H

#include <stdint.h>

#include "api/tags.h"

enum pipe_message_kind {
    PIPE_ACTIVATION, /* from a stage to the next */
    PIPE_GRADIENT,   /* from a stage to the one before */
    /* Shares of these tensors, between the ranks that gather them. */
    PIPE_ACTIVATION_SHARE,
    PIPE_GRADIENT_SHARE,
    /* The message after a list in shares. The receiver accepts it when it has
     * gathered all of them. */
    PIPE_ACTIVATION_CLOSING,
    PIPE_GRADIENT_CLOSING,
};

enum {
    PIPE_LANE_BITS = 24
};

static const uint32_t PIPE_N_LANES = (uint32_t)1 << PIPE_LANE_BITS;

/* Returns the tag. lane must be below PIPE_N_LANES. */
static inline uint64_t
pipe_tag(enum pipe_message_kind kind, uint32_t lane)
{
    return tag_of_library_part(TAG_PIPELINE_TENSOR,
                               (uint64_t)kind << PIPE_LANE_BITS | lane);
}

#endif
