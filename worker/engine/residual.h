/*
 * engine/residual.h - error feedback: what a tensor lost on the wire, for its
 * next call
 *
 * In a collective of 8-bit blocks a rank rounds two things: what it sends to
 * the owners of blocks and, in an allreduce, the block that it owns once that
 * is finished. What both lose (codec/error_feedback.h) is kept from one call to
 * the next call on the same tensor: the same call by name, place in memory and
 * signature, on the same context. The values to send are computed when the
 * operation begins, and replace its input.
 *
 * Each rank keeps its own residuals; peers need not know of them or keep
 * theirs. If there are too many (LIMIT_RESIDUALS) the least recently used are
 * dropped, and so are those of failed calls. An operation has its residual for
 * itself.
 */

#ifndef ENGINE_RESIDUAL_H
#define ENGINE_RESIDUAL_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

struct comm_context;
struct op;

/* Take or create the residual of op, whose collective has just been set and
 * whose loss is LOSS_INT8. place identifies the tensor. Thread: any. Handle:
 * HOOP_E_EXHAUSTED. */
enum hoop_status
residual_begin(struct op *op, const void *place);

/* count floats at to, in the block that this rank owns, are finished: add what
 * was lost there last time, and round them. Called by the progress owner. */
void
residual_finish_block(const struct op *op, uint8_t *to, size_t count);

/* op's collective has ended well: keep its residual, if it has one. Thread:
 * any. */
void
residual_keep(struct op *op);
/* Free op's residual, since it is unknown what has been sent. Thread: any. */
void
residual_drop(struct op *op);

/* context ends: free all its residuals except those of operations that end
 * later. */
void
residual_clear(struct comm_context *context);

#endif
