/*
 * engine/wire_loss.h - collectives whose floats lose bits on the wire
 *
 * The transport rounds whatever leaves a rank. So that all ranks still end with
 * the same bits, each rank rounds what it keeps for itself as if it had been
 * sent: every operand before it is combined, and the final result. Then it does
 * not matter which rank combines or forwards what, because rounding twice
 * changes nothing (codec/loss.h).
 *
 * Error feedback: in a collective of 8-bit blocks a rank rounds two things:
 * what it sends to the owners of blocks and, in an allreduce, the block that it
 * owns once that is finished. What both lose (codec/error_feedback.h) is kept
 * from one call to the next call on the same tensor: the same call by name,
 * place in memory and signature, on the same context. The values to send are
 * computed when the operation begins, and replace its input.
 *
 * Each rank keeps its own residuals; peers need not know of them or keep
 * theirs. If there are too many (LIMIT_RESIDUALS) the least recently used are
 * dropped, and so are those of failed calls. An operation has its residual for
 * itself.
 */

#ifndef ENGINE_WIRE_LOSS_H
#define ENGINE_WIRE_LOSS_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "engine/op.h"

struct comm_context;

struct wire_rounding_operands {
    const uint8_t *left;
    const uint8_t *right;
    const uint8_t *arrived; /* the operand that arrived rounded; NULL: none */
};

/* Returns what op's messages lose. */
static inline enum codec_loss
op_wire_loss(const struct op *op)
{
    return op->run.is_call_check_stage ? LOSS_NONE : op->run.loss;
}

/* Combine count elements with op->run.reduce after rounding the operands,
 * which may lie where the result goes. */
void
wire_rounding_combine(const struct op *op,
                      const struct wire_rounding_operands *operands,
                      uint8_t *to,
                      size_t count);

/* count elements of the result are finished: round them if all ranks will hold
 * them. */
void
wire_rounding_finish_block(const struct op *op, uint8_t *to, size_t count);

/* All steps are done: round this rank's own contribution as the others received
 * it. */
void
wire_rounding_finish(const struct op *op);

/* Take or create the residual of op, whose collective has just been set and
 * whose loss is LOSS_INT8. place identifies the tensor. Thread: any. Handle:
 * HOOP_E_EXHAUSTED. */
enum hoop_status
residual_apply_to_input(struct op *op, const void *place);

/* op's collective has ended well: keep its residual. Thread: any. */
void
residual_return_to_context(struct op *op);
/* Free op's residual, since it is unknown what has been sent. Thread: any. */
void
residual_drop(struct op *op);

/* context ends: free all its residuals except those of operations that end
 * later. */
void
residuals_clear(struct comm_context *context);

#endif
