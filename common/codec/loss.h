/*
 * codec/loss.h - stores float32s in fewer bits, only on request
 *
 * A loss is a way to store float32s in two bytes each, or in one byte each plus
 * a scale per block. Rounding a rounded value again changes nothing, so a value
 * may be stored at every hop. For LOSS_INT8 this holds only if the blocks are
 * the same: they begin every LOSS_BLOCK elements.
 *
 *   LOSS_BF16  the upper half of a float: 8 bits of precision, the full range
 *   LOSS_FP16  IEEE binary16: 11 bits, up to 65504; above that infinity, below
 *              2^-14 fewer bits, below 2^-25 zero
 *   LOSS_INT8  a byte for each, times a power of two for each block, such that
 *              the largest lies within 64 to 127; an infinity becomes a NaN
 *
 * Rounds to nearest, ties to even. A NaN stays a NaN, but its payload is lost.
 */

#ifndef CODEC_LOSS_H
#define CODEC_LOSS_H

#include <stddef.h>
#include <stdint.h>

#include "base/config.h"

enum {
    LOSS_COUNT = LOSS_INT8 + 1,
    LOSS_BLOCK = 64, /* elements */
};

/* "none", "bf16", ... The text is static. */
const char *
loss_name(enum codec_loss loss);

/* Bytes that count stored floats take. Here and below, loss is not
 * LOSS_NONE. */
size_t
loss_n_stored(enum codec_loss loss, size_t count);
/* Floats may be split between payloads at multiples of this many elements. */
size_t
loss_granule(enum codec_loss loss);
/* Bytes of a stored word, for codec_block.word_size. */
size_t
loss_word_size(enum codec_loss loss);

/* Here and below, floats and out need no alignment and may be the same. */
void
loss_store(enum codec_loss loss,
           const uint8_t *floats,
           size_t count,
           uint8_t *stored);
/* Any stored bytes are valid floats. */
void
loss_load(enum codec_loss loss,
          const uint8_t *stored,
          size_t count,
          uint8_t *floats);
/* Replace floats by what storing and loading makes of them. */
void
loss_round(enum codec_loss loss,
           const uint8_t *floats,
           size_t count,
           uint8_t *out);

#endif
