/*
 * engine/shortcut.h - when a caller may do at once what it waits for; private
 *
 * For shortcut.c and shortcut_message.c.
 */

#ifndef ENGINE_SHORTCUT_H
#define ENGINE_SHORTCUT_H

#include <stdbool.h>

#include "engine/state.h"

enum {
    /* Then the sockets are looked at: a verdict may lie there. A message counts
     * as one. */
    ROUNDS_PER_TURN = 256,
    /* Where ranks share a processor, who is waited for may need this one. */
    LOOKS_PER_ADVICE = 32,
    LOOKS_CROWDED = 4,
};

/* Nobody drives, nothing is under way or handed in, no rank is known to be lost
 * and none has left. Under the gate. */
static inline bool
channel_is_quiet(const struct channel *channel)
{
    const struct engine *engine = channel->engine;

    return !engine->is_driven &&
           !atomic_load_explicit(&engine->has_mail, memory_order_relaxed) &&
           TAILQ_EMPTY(&engine->running) && !engine->is_leaving &&
           engine->n_lost == 0 && engine->n_left == 0 && !channel->is_owed &&
           !channel->is_revoked;
}

#endif
