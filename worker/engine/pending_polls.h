/*
 * engine/pending_polls.h - when a collective polls all sockets before it ends
 *
 * A rank that only sends to this one is heard in no other way: if it called
 * something else, its frames must be found while this rank still has a call
 * that can fail for them. So after a call that ended without hearing from all
 * ranks, the next collectives poll all sockets. One poll finds what the others
 * have sent, the next what other ranks then say of it.
 *
 * A collective that needs all ranks, after others like it, polls nothing more:
 * no rank would have finished those if another had called something else. One
 * with a root, which waits for few, leaves the polls to the next without a
 * root. Collectives through shared memory, which read no sockets otherwise,
 * poll only after a call of another kind, so their polls are counted apart.
 *
 * Private to engine/. Thread: the progress owner's, or that of the inline path.
 */

#ifndef ENGINE_PENDING_POLLS_H
#define ENGINE_PENDING_POLLS_H

#include <stdbool.h>

#include "engine/state.h"

/* A call has ended after which no collective may end unpolled: a send or a
 * failure. */
static inline void
pending_polls_renew(struct comm_context *context)
{
    context->polls.n = POLLS_AFTER_OP;
    context->polls.n_shm = POLLS_AFTER_OP;
}

/* A receive has ended. */
static inline void
pending_polls_after_receive(struct comm_context *context)
{
    context->polls.n = POLLS_AFTER_OP;
}

/* op, a collective, has ended. */
static inline void
pending_polls_after_collective(const struct op *op)
{
    struct pending_polls *polls = &op->run.context->polls;
    const bool is_well = op->run.status == HOOP_OK;
    const bool is_heard = is_well && !op->run.members && op->run.stage == 0 &&
                          call_needs_all_ranks(&op->run.label.call);

    if (!is_heard)
        polls->n = POLLS_AFTER_OP;
    else if (polls->n > 0 && !op_is_shm(op))
        polls->n--;
    if (!is_well || !op_is_shm(op) || call_has_root(&op->run.label.call))
        polls->n_shm = POLLS_AFTER_OP;
    else if (polls->n_shm > 0 &&
             !transport_is_in_progress(op->engine->transport))
        polls->n_shm--;
}

/* Returns whether a collective of that algorithm must poll before it ends. The
 * sockets of two ranks are those that it reads anyway. */
static inline bool
must_poll_for_others(const struct comm_context *context,
                     const struct algorithm *algorithm,
                     const struct frame_call *call)
{
    if (call_has_root(call))
        return false;
    return algorithm->is_shm ? context->polls.n_shm > 0
                             : context->size > 2 && context->polls.n > 0;
}

#endif
