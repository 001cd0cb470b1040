/*
 * engine/inline_path.h - when a caller may do at once what it waits for; private
 *
 * For inline_collective.c and inline_message.c.
 */

#ifndef ENGINE_INLINE_PATH_H
#define ENGINE_INLINE_PATH_H

#include <stdbool.h>

#include "engine/state.h"

enum {
    /* Then the sockets are looked at: a failure notice may lie there. A message counts
     * as one. */
    ROUNDS_PER_POLL = 256,
    /* Where ranks share a processor, who is waited for may need this one. */
    POLLS_PER_ACTION = 32,
    POLLS_OVERSUBSCRIBED = 4,
};

/* Nobody makes progress, nothing is under way or handed in, no rank is known to be lost
 * and none has left. Under the lock. */
static inline bool
context_allows_inline(const struct comm_context *context)
{
    const struct engine *engine = context->engine;

    return !engine->is_progress_owned &&
           !atomic_load_explicit(&engine->has_commands, memory_order_relaxed) &&
           TAILQ_EMPTY(&engine->running) && !engine->is_leaving &&
           engine->n_lost == 0 && engine->n_left == 0 &&
           !context->has_deferred_failure && !context->is_revoked;
}

#endif
