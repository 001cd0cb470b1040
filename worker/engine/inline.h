/*
 * engine/inline.h - a caller executes a small collective or message inline
 *
 * The contract of every inline path (inline.c, inline_message.c,
 * transport/inline.c): the call may complete here. Otherwise nothing has
 * happened but what is said there, and the caller continues with an ordinary
 * operation, which begins from there. The call has the same number, result and
 * failure either way, because it is taken here only if nothing stands before
 * it: progress ownership is free, no operation runs or has been handed in, no
 * member is known to be lost or to have left, and no failure waits for a call
 * of its kind. So no other thread needs to find an operation, and there is
 * none.
 *
 * Private to engine/.
 */

#ifndef ENGINE_INLINE_H
#define ENGINE_INLINE_H

#include <stdbool.h>

#include "engine/progress.h"
#include "engine/state.h"

enum {
    /* Inline rounds after which the sockets are polled, because a failure
     * notice may have arrived. A message counts as one round. */
    INLINE_ROUNDS_PER_SOCKET_POLL = 256,
    /* Polls before the caller looks for commands. Where ranks share processors
     * it polls less often, because the awaited rank may need this processor. */
    INLINE_POLLS_PER_COMMAND_CHECK = 32,
    INLINE_POLLS_OVERSUBSCRIBED = 4,
};

/* Returns whether a member is known to be lost or to have left. Members are
 * looked through only if more ranks have gone since the last time. */
static inline bool
context_has_gone_member(struct comm_context *context)
{
    const struct engine_liveness *liveness = &context->engine->liveness;
    const uint32_t n_gone = liveness->n_lost + liveness->n_left;

    if (context->n_gone_when_checked == n_gone)
        return context->has_gone_member;
    context->n_gone_when_checked = n_gone;
    for (uint32_t i = 0; i < context->size; i++)
        context->has_gone_member |=
            rank_is_gone(&liveness->ranks[context->ranks[i]]);
    return context->has_gone_member;
}

/* Returns whether progress ownership is free, nothing is running or handed in,
 * no member is known to be lost or to have left, and no failure waits for the
 * call: *n_pending_failures wait for calls of its kind; NULL: none can. What is
 * the progress owner's is read only if there is none. The steps of a longer call
 * tell and count their waits as operations do. The caller holds the lock. */
static inline bool
context_allows_inline(struct comm_context *context,
                      const unsigned *n_pending_failures)
{
    const struct engine *engine = context->engine;

    return !engine->is_progress_owned &&
           !(n_pending_failures && *n_pending_failures > 0) &&
           !atomic_load_explicit(&engine->inbox.has_commands,
                                 memory_order_relaxed) &&
           TAILQ_EMPTY(&engine->progress.running) && !engine->is_leaving &&
           !context_has_gone_member(context) &&
           !context->failure.has_deferred && !context->failure.is_revoked &&
           !atomic_load_explicit(&context->purpose, memory_order_relaxed);
}

/* Give up progress ownership at the end of a call. */
static inline void
inline_release_progress(struct comm_context *context)
{
    if (context->n_rounds_since_socket_poll >= INLINE_ROUNDS_PER_SOCKET_POLL) {
        context->n_rounds_since_socket_poll = 0;
        progress_poll(context->engine, 0);
    }
    progress_release(context->engine);
}

#endif
