/*
 * engine/shm_executor.h - executes the rounds of a shared-memory plan
 *
 * Private to engine/. Thread: the progress owner's, or
 * that of the inline path.
 */

#ifndef ENGINE_SHM_EXECUTOR_H
#define ENGINE_SHM_EXECUTOR_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/op.h"

/* Plan the first round of the current stage. */
enum hoop_status
shm_executor_begin(struct op *op);

/* Do as many rounds as the peers permit. */
enum hoop_status
shm_executor_advance(struct op *op, bool *out_is_complete);

/* Do one round if that is possible now. */
enum hoop_status
shm_executor_try_round(struct op *op, bool *out_is_done);

/* Like shm_executor_begin(), but reuse op's plan, which has one round. */
static inline void
shm_executor_restart(struct op *op)
{
    assert(op->run.rounds.n_rounds == 1);
    op->run.rounds.round = 0;
    op->run.rounds.is_posted = false;
    op->run.rounds.n_steps_with_published_peers = 0;
    op->run.rounds.is_retracted = false;
}

/* Wake peers that sleep and could continue. The inline path calls it after an
 * attempt at a round, before it waits. */
void
shm_executor_wake_peers(struct op *op);

/* Returns whether what op waits for has happened. */
bool
shm_executor_can_progress(const struct op *op);

/* Estimate how long the peers may be busy with the current round. Returns 0 if
 * op does not use shared memory. */
uint64_t
shm_executor_work_ns(const struct op *op);

/* op has failed: withdraw its posts, and tell the peers that this rank reads no
 * more of theirs. */
void
shm_executor_abort(struct op *op);

/* Make op's flows those of the peers that it is waiting for. */
void
shm_executor_list_awaited(struct op *op);

/* Returns the first world rank that op waits for, or HOOP_NO_RANK. Leaves op's
 * flows alone. */
uint32_t
shm_executor_awaited_rank(const struct op *op);

#endif
