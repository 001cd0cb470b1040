/*
 * engine/past.h - the operations of a channel that have ended here
 *
 * A rank that only sends returns before the others know what it called. What
 * comes for such an operation afterwards is judged by what is kept of it. Pure.
 */

#ifndef ENGINE_PAST_H
#define ENGINE_PAST_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/stages.h"
#include "wire/frame.h"

enum {
    /* More than a rank gets ahead in a shared region of the one it calls with; through
     * sockets it may get further, if what it sends is little. */
    PAST_OPS = 128,
};

struct past_op {
    uint64_t number;
    uint64_t signatures[STAGES_MAX];
    struct frame_call call;
    uint32_t flags; /* of its frames */
    bool has_failed;
};

struct past {
    struct past_op ops[PAST_OPS];
    /* The newest that failed: all is said of the older ones. */
    uint64_t failed_newest;
};

void
past_add(struct past *past, const struct past_op *op);
/* One of a single stage that ended well. */
void
past_add_call(struct past *past,
              uint64_t number,
              uint64_t signature,
              const struct frame_call *call);
/* NULL: too long ago, or never ended. */
const struct past_op *
past_find(const struct past *past, uint64_t number);
/* Number ended well here, but failed elsewhere. False: it is known already. */
bool
past_fail(struct past *past, uint64_t number);
/* As far as is known. */
bool
past_has_failed(const struct past *past, uint64_t number);

#endif
