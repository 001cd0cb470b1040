/*
 * engine/wire_rounding.h - collectives whose floats lose bits on the wire
 *
 * The transport rounds whatever leaves a rank. So that all ranks still end with
 * the same bits, each rank rounds what it keeps for itself as if it had been
 * sent: every operand before it is combined, and the final result. Then it does
 * not matter which rank combines or forwards what, because rounding twice
 * changes nothing (codec/loss.h).
 */

#ifndef ENGINE_WIRE_ROUNDING_H
#define ENGINE_WIRE_ROUNDING_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/op.h"

struct wire_rounding_operands {
    const uint8_t *left;
    const uint8_t *right;
    const uint8_t *arrived; /* the operand that arrived rounded; NULL: none */
};

/* Returns what op's messages lose. */
enum codec_loss
wire_rounding_of(const struct op *op);

/* Combine count elements with op->reduce after rounding the operands, which may
 * lie where the result goes. */
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

#endif
