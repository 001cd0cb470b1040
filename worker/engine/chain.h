/*
 * engine/chain.h - one operation that runs several collectives in a row
 *
 * The result of one collective decides about the next: first the lengths of
 * objects, then their bytes. All stages share the operation's number, deadline
 * and waiter. So no other call of the ranks can come in between, and a failure
 * of one stage ends the operation. On the wire the stage is part of the step. A
 * stage may run its plan among some of the ranks while others run theirs; a
 * rank that has no part in a stage goes on to the next.
 */

#ifndef ENGINE_CHAIN_H
#define ENGINE_CHAIN_H

#include <stdint.h>

#include "hoop/status.h"

struct engine_collective;

enum {
    STAGES_MAX = 12,
    /* The stage is in these bits of the wire's step; the plan uses those
     * below. */
    STAGE_SHIFT = 28,
    /* The stage before the first, in which all ranks compare their calls. */
    STAGE_CHECK = 15,
};

/* What follows an operation's first collective. Zeroed: nothing. */
struct chain {
    /*
     * Fill *out_next with the collective of stage number stage, which counts
     * from 1. Its mode and chain are ignored; its buffers must live until
     * destroy. If algorithm stays NULL there is no further stage, which all
     * ranks must find alike. It may allocate memory but must not wait.
     *
     * Thread: the progress owner's.
     */
    enum hoop_status (*next)(void *owner,
                             uint32_t stage,
                             struct engine_collective *out_next);
    /* All stages have ended well: unpack and hand out results. Thread: the
     * waiter's, before engine_wait() returns the status. */
    enum hoop_status (*finish)(void *owner);
    /* Free owner, however the operation ended. Thread: the waiter's. */
    void (*destroy)(void *owner);
    void *owner; /* owned by engine_start() even if it fails */
};

/* Destroy the owner of a chain that was never started, or has ended. */
void
chain_deinit(struct chain *chain);

#endif
