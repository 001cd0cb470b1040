/*
 * codec/loss.h - floats in fewer bits, on request only
 *
 * A loss is a way to store float32s in two bytes, or in blocks of one. What it
 * does to a value is done once: rounding what has been rounded changes nothing,
 * so that a value may be stored as often as it is passed on. Of LOSS_INT8 that
 * is so for the same blocks: those that begin LOSS_BLOCK elements after one
 * another.
 *
 *   LOSS_BF16  the upper half of a float: 8 bits of precision, all of its range
 *   LOSS_FP16  IEEE binary16: 11 bits, to 65504; above that infinity, below
 *              2^-14 fewer bits, below 2^-25 zero
 *   LOSS_INT8  a byte for each, times a power of two for each block, such that
 *              the largest lies within 64 to 127; an infinity becomes a NaN
 *
 * To nearest, ties to even. A NaN stays one, its payload does not.
 */

#ifndef CODEC_LOSS_H
#define CODEC_LOSS_H

#include <stddef.h>
#include <stdint.h>

/* In the order of the setting; the numbers are the wire's. */
enum codec_loss {
    LOSS_NONE,
    LOSS_BF16,
    LOSS_FP16,
    LOSS_INT8,
};

enum {
    LOSS_COUNT = LOSS_INT8 + 1,
    LOSS_BLOCK = 64, /* elements */
};

/* "none", "bf16", ... Static. */
const char *
loss_name(enum codec_loss loss);

/* What count floats take when stored. loss is one, as in all below. */
size_t
loss_n_stored(enum codec_loss loss, size_t count);
/* Elements after which floats may be cut into payloads. */
size_t
loss_granule(enum codec_loss loss);
/* Bytes of a stored word: codec_span.word_size. */
size_t
loss_word_size(enum codec_loss loss);

/* floats, and out below, may lie anywhere, also in the same place. */
void
loss_store(enum codec_loss loss,
           const uint8_t *floats,
           size_t count,
           uint8_t *stored);
/* Any bytes are some floats. */
void
loss_load(enum codec_loss loss,
          const uint8_t *stored,
          size_t count,
          uint8_t *floats);
/* What storing and loading makes of them. */
void
loss_round(enum codec_loss loss,
           const uint8_t *floats,
           size_t count,
           uint8_t *out);

#endif
