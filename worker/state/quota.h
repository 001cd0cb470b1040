/*
 * state/quota.h - which of the blocks that a rank lacks which source sends
 *
 * What is lacked, one block behind the other, is cut into as many parts of the
 * same number of bytes as there are sources; a block belongs to the part in
 * which it begins. So each source sends blocks that lie together, in few
 * messages, and who lacks much hears all sources at once. Pure: both ends
 * compute the same.
 */

#ifndef STATE_QUOTA_H
#define STATE_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "state/gaps.h"

struct quota {
    const struct inventory *inventory; /* borrowed for life, as gaps */
    const uint8_t *gaps;
    uint64_t next; /* a block that is lacked, unless it is end */
    uint64_t end;
};

/* Which part of how many. */
struct quota_part {
    uint32_t number;
    uint32_t n_parts;
};

/* n_bytes are those of all blocks in gaps. */
struct quota
quota_of(const struct inventory *inventory,
         const uint8_t *gaps,
         uint64_t n_bytes,
         struct quota_part part);

/* The next message: blocks of one tensor that lie together, LIMIT_STATE_MESSAGE
 * bytes or one block. False: there is none any more. */
bool
quota_next(struct quota *quota, struct inventory_run *out_run);

#endif
