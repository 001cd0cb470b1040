/*
 * codec/loss_fp16.c - stores floats as IEEE binary16, by integers
 *
 * Written without branches, so that it vectorises. Subnormals are rounded by
 * the processor: 0.5 is added, whose last bit has the weight of theirs.
 */

#include "codec/loss_kernels.h"

enum {
    FP16_INFINITY = 0x7c00,
    FP16_NAN = 0x7e00,
    FP16_SIGN = 0x8000,
    DIGITS_CUT = 13,
    REBIAS = (127 - 15) << 23,
    NORMAL_MIN = 113 << 23,   /* 2^-14 */
    OVERFLOW_MIN = 143 << 23, /* 2^16 */
    ONE_HALF = 126 << 23,
};

static size_t
fp16_n_stored(size_t count)
{
    return 2 * count;
}

static inline uint16_t
fp16_of(union loss_float one)
{
    const union loss_float half = {.bits = ONE_HALF};
    const union loss_float size = {.bits = one.bits & 0x7fffffff};
    const union loss_float sum = {.value = size.value + half.value};
    const uint32_t sign = one.bits >> 16 & FP16_SIGN;
    const uint32_t odd = size.bits >> DIGITS_CUT & 1;
    const uint32_t normal = (size.bits - REBIAS + 0xfff + odd) >> DIGITS_CUT;
    const uint32_t finite =
        size.bits < NORMAL_MIN ? sum.bits - half.bits : normal;
    const uint32_t bits = size.bits < OVERFLOW_MIN ? finite : FP16_INFINITY;

    return (uint16_t)(one.value == one.value ? bits | sign : FP16_NAN);
}

static inline union loss_float
fp16_value(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & FP16_SIGN) << 16;
    const uint32_t shifted = (uint32_t)(half & 0x7fff) << DIGITS_CUT;
    const union loss_float least = {.bits = NORMAL_MIN};
    const union loss_float raised = {.bits = shifted + NORMAL_MIN};
    const union loss_float small = {.value = raised.value - least.value};
    const uint32_t twice =
        shifted >= (uint32_t)FP16_INFINITY << DIGITS_CUT ? REBIAS : 0;
    const uint32_t bits =
        shifted < 0x0400 << DIGITS_CUT ? small.bits : shifted + REBIAS + twice;

    return (union loss_float){.bits = bits | sign};
}

static void
fp16_store(const uint8_t *floats, size_t count, uint8_t *stored)
{
    for (size_t i = 0; i < count; i++)
        loss_half_put(stored, i, fp16_of(loss_float_at(floats, i)));
}

static void
fp16_load(const uint8_t *stored, size_t count, uint8_t *floats)
{
    for (size_t i = 0; i < count; i++)
        loss_float_put(floats, i, fp16_value(loss_half_at(stored, i)));
}

extern const struct loss_kernel KERNEL;

const struct loss_kernel KERNEL = {
    .name = "fp16",
    .granule = 1,
    .word_size = 2,
    .n_stored = fp16_n_stored,
    .store = fp16_store,
    .load = fp16_load,
};
