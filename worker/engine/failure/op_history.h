/*
 * engine/failure/op_history.h - what ranks called before, to compare with what
 * others call now
 *
 * A rank that only sends may return before the others know what it called.
 * Frames that arrive for such an operation later are compared with its entry
 * here. Pure.
 */

#ifndef ENGINE_FAILURE_OP_HISTORY_H
#define ENGINE_FAILURE_OP_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "wire/frame.h"

enum {
    /* More than the calls by which a rank can be ahead of its peers in a shared
     * region. Over sockets it may get further ahead if it sends little. */
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
    /* The newest operation that failed. An older one that has no entry any more
     * counts as failed, too. */
    uint64_t failed_newest;
};

void
op_history_add(struct op_history *op_history,
               const struct op_history_entry *op);
/* Add an operation of a single stage that ended well. */
static inline void
op_history_add_call(struct op_history *op_history,
                    uint64_t number,
                    uint64_t signature,
                    const struct frame_call *call)
{
    op_history->ops[number % OP_HISTORY_ENTRIES] = (struct op_history_entry){
        .number = number, .signatures = {signature}, .call = *call};
}
/* Returns the entry of an operation, or NULL if it is too old or has not
 * ended. */
const struct op_history_entry *
op_history_find(const struct op_history *op_history, uint64_t number);
/* Operation number ended well here but failed elsewhere. Returns false if that
 * is known already. */
bool
op_history_mark_failed(struct op_history *op_history, uint64_t number);
/* Returns whether the operation failed, as far as is known. */
bool
op_history_has_failed(const struct op_history *op_history, uint64_t number);

#endif
