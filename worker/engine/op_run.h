/*
 * engine/op_run.h - begins an operation and runs its stages up to its end
 *
 * Private to engine/.
 */

#ifndef ENGINE_OP_RUN_H
#define ENGINE_OP_RUN_H

#include <stdbool.h>

#include "engine/op.h"

/* Make collective op's current stage. Everything but buffers and members is
 * copied. */
enum hoop_status
op_set_collective(struct op *op, const struct engine_collective *collective);

/* Set the element size and kernels: those of the call, or a byte's for a
 * barrier. */
void
op_set_reduction_kernels(struct op *op);

/* Begin op, or end it if it cannot succeed any more. */
void
op_begin(struct op *op);

/* Advance the current stage and start further ones. *out_is_complete becomes
 * true after the last one. */
enum hoop_status
op_chain_advance(struct op *op, bool *out_is_complete);

/* op has all it needs: end it, unless a last poll of the sockets ends it
 * first. */
void
op_poll_and_complete(struct op *op);

/* The progress owner ends op if it was cancelled; returns whether it was. */
bool
op_fail_if_cancelled(struct op *op);

#endif
