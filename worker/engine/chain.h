/*
 * engine/chain.h - one operation that is several collectives in a row
 *
 * What one has brought decides about the next: first the lengths of objects,
 * then their bytes. All of them have the operation's number, deadline and
 * waiter, so that nothing the ranks call in between can mix in, and a failure
 * of one ends the operation. On the wire the stage is part of the step. A stage
 * may have its plan run among a few of the ranks, others at the same time among
 * others: whoever has no part in it goes on to the next.
 */

#ifndef ENGINE_CHAIN_H
#define ENGINE_CHAIN_H

#include <stdint.h>

#include "hoop/status.h"

struct engine_collective;

enum {
    STAGES_MAX = 12,
    /* Of the wire's step; those below are the plan's. */
    STAGE_SHIFT = 28,
    /* Before the first, when calls are checked first: all ranks agree. */
    STAGE_CHECK = 15,
};

/* What follows an operation's first collective. Zeroed: nothing. */
struct chain {
    /*
     * Stage number stage, from 1: fill *out_next, whose mode and chain are not
     * looked at; its buffers must live until destroy. An algorithm that stays
     * NULL means that there was no more to do, which all ranks must find alike.
     * Thread: the progress owner's. It may allocate; it must not wait.
     */
    enum hoop_status (*next)(void *owner,
                             uint32_t stage,
                             struct engine_collective *out_next);
    /* All has ended well: unpack, hand out. Thread: the waiter's, before
     * engine_wait() returns the status. */
    enum hoop_status (*finish)(void *owner);
    /* However it ended. Thread: the waiter's. */
    void (*destroy)(void *owner);
    void *owner; /* taken by engine_start(), also when that fails */
};

/* Ends them without a start: destroys the owner. */
void
chain_deinit(struct chain *chain);

#endif
