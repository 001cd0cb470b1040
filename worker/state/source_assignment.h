/*
 * state/source_assignment.h - which of the blocks that a rank lacks which source sends
 *
 * What is lacked, one block behind the other, is cut into as many parts of the
 * same number of bytes as there are sources; a block belongs to the part in
 * which it begins. So each source sends blocks that lie together, in few
 * messages, and who lacks much hears all sources at once. Pure: both ends
 * compute the same.
 */

#ifndef STATE_SOURCE_ASSIGNMENT_H
#define STATE_SOURCE_ASSIGNMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "state/missing_blocks.h"

struct source_assignment {
    const struct tensor_manifest
        *tensor_manifest; /* borrowed for life, as missing_blocks */
    const uint8_t *missing_blocks;
    uint64_t next; /* a block that is lacked, unless it is end */
    uint64_t end;
};

/* Which part of how many. */
struct source_part {
    uint32_t number;
    uint32_t n_parts;
};

/* n_bytes are those of all missing blocks. */
struct source_assignment
source_assignment_of(const struct tensor_manifest *tensor_manifest,
                     const uint8_t *missing_blocks,
                     uint64_t n_bytes,
                     struct source_part part);

/* The next message: blocks of one tensor that lie together, LIMIT_STATE_MESSAGE
 * bytes or one block. False: there is none any more. */
bool
source_assignment_next(struct source_assignment *source_assignment,
                       struct tensor_manifest_run *out_run);

#endif
