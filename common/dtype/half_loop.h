/*
 * dtype/half_loop.h - combines halves in blocks of floats
 *
 * Included after half_widen_block(), half_narrow_block() and HALF_BLOCK are
 * defined.
 */

#ifndef DTYPE_HALF_LOOP_H
#define DTYPE_HALF_LOOP_H

#include "dtype/kernel_loop.h"

__attribute__((always_inline)) static inline void
half_combine_block(stored *results,
                   const stored *lefts,
                   const stored *rights,
                   size_t count,
                   half_fn *combine)
{
    float a[HALF_BLOCK];
    float b[HALF_BLOCK];

    half_widen_block(a, lefts, count);
    half_widen_block(b, rights, count);
    for (size_t i = 0; i < count; i++)
        a[i] = combine(a[i], b[i]);
    half_narrow_block(results, a, count);
}

/* The count of whole blocks is constant, so the compiler unrolls them. */
__attribute__((always_inline)) static inline void
half_combine(void *out,
             const void *left,
             const void *right,
             size_t count,
             half_fn *combine)
{
    stored *const results = out;
    const stored *const lefts = left;
    const stored *const rights = right;
    size_t i = 0;

    for (; i + HALF_BLOCK <= count; i += HALF_BLOCK)
        half_combine_block(results + i, lefts + i, rights + i, HALF_BLOCK,
                           combine);
    if (i < count)
        half_combine_block(results + i, lefts + i, rights + i, count - i,
                           combine);
}

__attribute__((always_inline)) static inline void
half_scale_block(stored *halves, size_t count, float by, half_fn *scale)
{
    float a[HALF_BLOCK];

    half_widen_block(a, halves, count);
    for (size_t i = 0; i < count; i++)
        a[i] = scale(a[i], by);
    half_narrow_block(halves, a, count);
}

__attribute__((always_inline)) static inline void
half_scale(void *values, size_t count, float by, half_fn *scale)
{
    stored *const halves = values;
    size_t i = 0;

    for (; i + HALF_BLOCK <= count; i += HALF_BLOCK)
        half_scale_block(halves + i, HALF_BLOCK, by, scale);
    if (i < count)
        half_scale_block(halves + i, count - i, by, scale);
}

#endif
