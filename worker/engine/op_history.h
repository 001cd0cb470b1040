/*
 * engine/op_history.h - the operations of a context that have ended here
 *
 * A rank that only sends returns before the others know what it called. What
 * comes for such an operation afterwards is judged by what is kept of it. Pure.
 */

#ifndef ENGINE_OP_HISTORY_H
#define ENGINE_OP_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/chain.h"
#include "wire/frame.h"

enum {
    /* More than a rank gets ahead in a shared region of the one it calls with; through
     * sockets it may get further, if what it sends is little. */
    OP_HISTORY_ENTRIES = 128,
};

struct op_history_entry {
    uint64_t number;
    uint64_t signatures[STAGES_MAX];
    struct frame_call call;
    uint32_t flags; /* of its frames */
    bool has_failed;
};

struct op_history {
    struct op_history_entry ops[OP_HISTORY_ENTRIES];
    /* The newest that failed: all is said of the older ones. */
    uint64_t failed_newest;
};

void
op_history_add(struct op_history *op_history,
               const struct op_history_entry *op);
/* One of a single stage that ended well. */
void
op_history_add_call(struct op_history *op_history,
                    uint64_t number,
                    uint64_t signature,
                    const struct frame_call *call);
/* NULL: too long ago, or never ended. */
const struct op_history_entry *
op_history_find(const struct op_history *op_history, uint64_t number);
/* Number ended well here, but failed elsewhere. False: it is known already. */
bool
op_history_mark_failed(struct op_history *op_history, uint64_t number);
/* As far as is known. */
bool
op_history_has_failed(const struct op_history *op_history, uint64_t number);

#endif
