/*
 * dtype/half_bfloat16.h - combines bfloat16s, each the upper half of a float
 *
 * A word of 32 bits holds two. Each becomes a float in place: the lower one by
 * a shift, the upper one by clearing the other. So nothing has to move between
 * vector lanes.
 */

#ifndef DTYPE_HALF_BFLOAT16_H
#define DTYPE_HALF_BFLOAT16_H

#include <stddef.h>
#include <stdint.h>

#include "dtype/kernel_loop.h"

enum {
    HALF_INFINITY = 0x7f80,
    HALF_NAN = 0x7fc0,
    HALF_BITS = 16,
};

static const uint32_t HALF_UPPER = 0xffff0000;

union half_float {
    float value;
    uint32_t bits;
};

typedef uint32_t half_pair __attribute__((aligned(1), may_alias));

/* A float whose upper half is the nearest bfloat16, ties to even. A value that
 * is too large becomes infinity by the carry. */
static inline uint32_t
half_round(float value)
{
    const uint32_t bits = (union half_float){.value = value}.bits;
    const uint32_t odd = bits >> HALF_BITS & 1;
    const uint32_t quiet = (uint32_t)HALF_NAN << HALF_BITS;

    return value == value ? bits + 0x7fff + odd : quiet;
}

static inline float
half_lower(uint32_t pair)
{
    return (union half_float){.bits = pair << HALF_BITS}.value;
}

static inline float
half_upper(uint32_t pair)
{
    return (union half_float){.bits = pair & HALF_UPPER}.value;
}

__attribute__((always_inline)) static inline uint32_t
half_combine_pair(uint32_t left, uint32_t right, half_fn *combine)
{
    const float lower = combine(half_lower(left), half_lower(right));
    const float upper = combine(half_upper(left), half_upper(right));

    return half_round(lower) >> HALF_BITS | (half_round(upper) & HALF_UPPER);
}

__attribute__((always_inline)) static inline void
half_combine(void *out,
             const void *left,
             const void *right,
             size_t count,
             half_fn *combine)
{
    half_pair *const results = out;
    const half_pair *const lefts = left;
    const half_pair *const rights = right;
    const size_t n_pairs = count / 2;

#pragma omp simd
    for (size_t i = 0; i < n_pairs; i++)
        results[i] = half_combine_pair(lefts[i], rights[i], combine);
    if (count % 2 == 0)
        return;

    const stored *const left_last = (const stored *)left + count - 1;
    const stored *const right_last = (const stored *)right + count - 1;
    ((stored *)out)[count - 1] =
        (T)half_combine_pair(*left_last, *right_last, combine);
}

__attribute__((always_inline)) static inline uint32_t
half_scale_pair(uint32_t pair, float by, half_fn *scale)
{
    const float lower = scale(half_lower(pair), by);
    const float upper = scale(half_upper(pair), by);

    return half_round(lower) >> HALF_BITS | (half_round(upper) & HALF_UPPER);
}

__attribute__((always_inline)) static inline void
half_scale(void *values, size_t count, float by, half_fn *scale)
{
    half_pair *const pairs = values;
    stored *const halves = values;
    const size_t n_pairs = count / 2;

#pragma omp simd
    for (size_t i = 0; i < n_pairs; i++)
        pairs[i] = half_scale_pair(pairs[i], by, scale);
    if (count % 2 != 0)
        halves[count - 1] = (T)half_scale_pair(halves[count - 1], by, scale);
}

#endif
