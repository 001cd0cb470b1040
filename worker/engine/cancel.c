/*
 * engine/cancel.c - cancels an operation that its caller no longer wants
 *
 * The progress owner ends the operation; until then its buffers stay borrowed.
 */

#include <stdio.h>

#include "engine/state.h"

void
engine_cancel(struct op *op)
{
    struct engine *engine = op->engine;

    /* The operation of engine_start_nothing() has no engine. */
    if (!engine)
        return;
    pthread_mutex_lock(&engine->lock);
    atomic_store(&op->is_cancelled, true);
    engine->has_cancelled = true;
    atomic_store(&engine->has_commands, true);
    const bool is_progress_owned = engine->is_progress_owned;
    pthread_mutex_unlock(&engine->lock);
    if (is_progress_owned)
        progress_wake(engine);
}

bool
op_refuse_cancelled(struct op *op)
{
    const struct roster *roster = op->engine->roster;
    char name[ROSTER_NAME_MAX];

    if (!atomic_load(&op->is_cancelled))
        return false;
    const struct failure_notice failure_notice =
        failure_make(HOOP_E_CANCELLED, roster->rank, "it was given up by %s",
                     roster_name(roster, roster->rank, name));
    op_fail(op, &failure_notice);
    return true;
}

void
engine_end_cancelled(struct engine *engine)
{
    struct op *next;

    for (struct op *op = TAILQ_FIRST(&engine->running); op; op = next) {
        next = TAILQ_NEXT(op, link);
        op_refuse_cancelled(op);
    }
}
