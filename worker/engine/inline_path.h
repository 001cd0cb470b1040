/*
 * engine/inline_path.h - when a caller may execute its call inline; private
 *
 * Used by inline_collective.c and inline_message.c.
 */

#ifndef ENGINE_INLINE_PATH_H
#define ENGINE_INLINE_PATH_H

#include <stdbool.h>

#include "engine/state.h"

enum {
    /* Inline rounds after which the sockets are polled, because a failure
     * notice may have arrived. A message counts as one round. */
    ROUNDS_PER_POLL = 256,
    /* Polls before the caller looks for commands. Where ranks share processors
     * it polls less often, because the awaited rank may need this processor. */
    POLLS_PER_ACTION = 32,
    POLLS_OVERSUBSCRIBED = 4,
};

/* Returns whether progress ownership is free, nothing is running or handed in,
 * and no rank is known to be lost or to have left. The caller holds the
 * lock. */
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
