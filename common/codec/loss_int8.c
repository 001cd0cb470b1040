/*
 * codec/loss_int8.c - stores a byte per float, and a power of two per block
 *
 * The scales of all blocks come before the bytes. The scale is the smallest
 * power that makes the largest number of the block at most 127. That number is
 * then at least 64, or 63.5 rounded to 64, so that storing the block again
 * gives the same scale and bytes. One exception: if 64 times the scale would
 * not be a float, bytes go up to 63, and storing again gives 126 times half the
 * scale.
 */

#include <stdbool.h>

#include "codec/loss.h"
#include "codec/loss_kernels.h"

enum {
    EXPONENT_SHIFT = 23,
    EXPONENT_MAX = 254,
    DIGITS_OF_127 = 63 << 17, /* 127 is 64 * (1 + 63/64) */
    EXPONENT_OF_64 = 6,
    SCALE_MIN = 1, /* the smallest normal power: smaller numbers become 0 */
    SCALE_MAX = EXPONENT_MAX - EXPONENT_OF_64 + 1,
    BYTE_NAN = -128,
};

static size_t
n_blocks(size_t count)
{
    return (count + LOSS_BLOCK - 1) / LOSS_BLOCK;
}

static size_t
int8_n_stored(size_t count)
{
    return n_blocks(count) + count;
}

static inline bool
is_finite(uint32_t size)
{
    return size >> EXPONENT_SHIFT <= EXPONENT_MAX;
}

/* The largest finite one, as bits without sign, which are ordered like the
 * numbers. */
static uint32_t
block_size(const uint8_t *floats, size_t count)
{
    uint32_t most = 0;

    for (size_t i = 0; i < count; i++) {
        const uint32_t size = loss_float_at(floats, i).bits & 0x7fffffff;
        const uint32_t finite = is_finite(size) ? size : 0;

        most = finite > most ? finite : most;
    }
    return most;
}

static uint32_t
scale_for(uint32_t size)
{
    const uint32_t digits = size & ((1U << EXPONENT_SHIFT) - 1);
    const uint32_t least =
        (size >> EXPONENT_SHIFT) + (digits > DIGITS_OF_127 ? 1 : 0);

    return least > EXPONENT_OF_64 + SCALE_MIN ? least - EXPONENT_OF_64
                                              : SCALE_MIN;
}

static void
block_store(const uint8_t *floats,
            size_t count,
            uint32_t scale,
            uint8_t *stored)
{
    /* Adding this leaves the rounded number in the lowest bits. */
    const union loss_float magic = {.value = 12582912.0F};
    const union loss_float per_step = {.bits = (EXPONENT_MAX - scale)
                                               << EXPONENT_SHIFT};
    const int32_t most = scale == SCALE_MAX ? 63 : 127;

    for (size_t i = 0; i < count; i++) {
        const union loss_float one = loss_float_at(floats, i);
        const bool fits = is_finite(one.bits & 0x7fffffff);
        const float steps = fits ? one.value * per_step.value : 0;
        const union loss_float sum = {.value = steps + magic.value};
        const int32_t number = (int32_t)(sum.bits - magic.bits);
        const int32_t high = number > most ? most : number;
        const int32_t both = high < -most ? -most : high;

        stored[i] = (uint8_t)(fits ? both : BYTE_NAN);
    }
}

static void
int8_store(const uint8_t *floats, size_t count, uint8_t *stored)
{
    uint8_t *bytes = stored + n_blocks(count);

    for (size_t i = 0; i < count; i += LOSS_BLOCK) {
        const size_t n = count - i < LOSS_BLOCK ? count - i : LOSS_BLOCK;
        const uint32_t scale = scale_for(block_size(floats + 4 * i, n));

        stored[i / LOSS_BLOCK] = (uint8_t)scale;
        block_store(floats + 4 * i, n, scale, bytes + i);
    }
}

static void
block_load(const uint8_t *stored, size_t count, uint32_t scale, uint8_t *floats)
{
    const union loss_float step = {.bits = scale << EXPONENT_SHIFT};
    const union loss_float nan = {.bits = 0x7fc00000};

    for (size_t i = 0; i < count; i++) {
        const int8_t number = (int8_t)stored[i];
        const union loss_float value = {.value = (float)number * step.value};

        loss_float_put(floats, i, number == BYTE_NAN ? nan : value);
    }
}

static void
int8_load(const uint8_t *stored, size_t count, uint8_t *floats)
{
    const uint8_t *bytes = stored + n_blocks(count);

    for (size_t i = 0; i < count; i += LOSS_BLOCK) {
        const size_t n = count - i < LOSS_BLOCK ? count - i : LOSS_BLOCK;

        block_load(bytes + i, n, stored[i / LOSS_BLOCK], floats + 4 * i);
    }
}

extern const struct loss_kernel KERNEL;

const struct loss_kernel KERNEL = {
    .name = "int8",
    .granule = LOSS_BLOCK,
    .word_size = 1,
    .n_stored = int8_n_stored,
    .store = int8_store,
    .load = int8_load,
};
