/*
 * state_sync/source_assignment.h - which source sends which missing block to a rank
 *
 * The missing blocks, taken as one sequence, are divided into as many parts of
 * equal bytes as there are sources. A block belongs to the part in which it
 * begins. So each source sends adjacent blocks in few messages, and a rank that
 * lacks much receives from all sources at once. Pure: both ends compute the
 * same result.
 */

#ifndef STATE_SYNC_SOURCE_ASSIGNMENT_H
#define STATE_SYNC_SOURCE_ASSIGNMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "state_sync/missing_blocks.h"

struct source_assignment {
    /* borrowed for life, as is missing_blocks */
    const struct state_manifest *tensor_manifest;
    const uint8_t *missing_blocks;
    uint64_t next; /* a missing block, or end */
    uint64_t end;
};

/* Part number of n_parts. */
struct source_part {
    uint32_t number;
    uint32_t n_parts;
};

/* Compute the blocks of one part. n_bytes is the size of all missing blocks. */
struct source_assignment
source_assignment_compute(const struct state_manifest *tensor_manifest,
                          const uint8_t *missing_blocks,
                          uint64_t n_bytes,
                          struct source_part part);

/* Take the next message: adjacent missing blocks of one tensor, at most
 * LIMIT_STATE_MESSAGE bytes or one block. Returns false if none is left. */
bool
source_assignment_next_message(struct source_assignment *source_assignment,
                               struct state_manifest_byte_range *out_run);

#endif
