/*
 * dtype/half_float16.h - converts IEEE binary16 to and from float, by integers
 *
 * Written without branches or tables, so that it vectorises. Neither gcc 12 nor
 * clang 14 vectorise _Float16 (clang has none on x86). Where F16C is available,
 * half_float16_f16c.h is eight times as fast.
 */

#ifndef DTYPE_HALF_FLOAT16_H
#define DTYPE_HALF_FLOAT16_H

#include <stdint.h>

enum {
    HALF_INFINITY = 0x7c00,
    HALF_NAN = 0x7e00,
    HALF_SIGN = 0x8000,
    HALF_REBIAS = (127 - 15) << 23, /* difference of the two exponent biases */
    HALF_SHIFT = 13,                /* difference of the two mantissa sizes */
    HALF_LEAST_NORMAL = 113 << 23,  /* 2^-14 as float bits */
    HALF_OVERFLOW = 143 << 23,      /* 2^16 as float bits */
    HALF_SUBNORMAL_ONE = 126 << 23, /* 0.5: its last bit weighs 2^-24 */
};

union half_float {
    float value;
    uint32_t bits;
};

static inline float
half_widen(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & HALF_SIGN) << 16;
    const uint32_t shifted = (uint32_t)(half & 0x7fff) << HALF_SHIFT;
    const uint32_t least = 0x0400 << HALF_SHIFT;
    const uint32_t infinity = (uint32_t)HALF_INFINITY << HALF_SHIFT;

    /* Subnormal: put the mantissa under the exponent of 2^-14, subtract
     * 2^-14. */
    const union half_float one = {.bits = HALF_LEAST_NORMAL};
    const union half_float raised = {.bits = shifted + HALF_LEAST_NORMAL};
    const union half_float small = {.value = raised.value - one.value};

    const uint32_t twice = shifted >= infinity ? HALF_REBIAS : 0;
    const uint32_t normal = shifted + HALF_REBIAS + twice;
    const uint32_t bits = shifted < least ? small.bits : normal;

    return (union half_float){.bits = bits | sign}.value;
}

/* To nearest, ties to even. */
static inline uint16_t
half_narrow(float value)
{
    const uint32_t bits = (union half_float){.value = value}.bits;
    const uint32_t sign = bits >> 16 & HALF_SIGN;
    const uint32_t size = bits & 0x7fffffff;

    /* Subnormal: adding 0.5 makes the processor round at the bit 2^-24. */
    const union half_float half = {.bits = HALF_SUBNORMAL_ONE};
    const union half_float magnitude = {.bits = size};
    const union half_float sum = {.value = magnitude.value + half.value};
    const uint32_t small = sum.bits - half.bits;

    const uint32_t odd = size >> HALF_SHIFT & 1;
    const uint32_t normal = (size - HALF_REBIAS + 0xfff + odd) >> HALF_SHIFT;
    const uint32_t finite = size < HALF_LEAST_NORMAL ? small : normal;
    const uint32_t result = size < HALF_OVERFLOW ? finite : HALF_INFINITY;

    return (uint16_t)(value == value ? result | sign : HALF_NAN);
}

/* Long enough to vectorise; two blocks of floats stay in the L1 cache. */
enum {
    HALF_BLOCK = 128
};

static inline void
half_widen_block(float *floats, const stored *halves, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        floats[i] = half_widen(halves[i]);
}

static inline void
half_narrow_block(stored *halves, const float *floats, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        halves[i] = half_narrow(floats[i]);
}

#include "dtype/half_loop.h"

#endif
