/*
 * engine/wire_rounding.h - collectives whose floats lose bits on their way
 *
 * Whatever leaves a rank is rounded by the transport. So that all ranks end
 * with the same bits all the same, each rounds what it keeps for itself as if
 * it had been sent: every operand before it is combined, and what all ranks
 * will hold. Then it does not matter who combines what, or who passes it on:
 * rounding twice changes nothing (codec/loss.h).
 */

#ifndef ENGINE_WIRE_ROUNDING_H
#define ENGINE_WIRE_ROUNDING_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/op.h"

struct wire_rounding_operands {
    const uint8_t *left;
    const uint8_t *right;
    const uint8_t *arrived; /* the one that came rounded; NULL: none did */
};

/* What op's messages lose. */
enum codec_loss
wire_rounding_of(const struct op *op);

/* Combine count elements, which may lie where the result will: op->reduce of
 * what is left of them. */
void
wire_rounding_combine(const struct op *op,
                      const struct wire_rounding_operands *operands,
                      uint8_t *to,
                      size_t count);

/* count elements of the result are there: is it what all ranks will have? */
void
wire_rounding_finish_block(const struct op *op, uint8_t *to, size_t count);

/* All steps are done: what this rank gave is now what it gave the others. */
void
wire_rounding_finish(const struct op *op);

#endif
