/*
 * dtype/kernel_loop.h - the loops that all kernels share, over elements T
 *
 * Callers pass a constant function, which is inlined and leaves a plain loop to
 * vectorise. The simd pragma relies on what reduction.h requires of the caller:
 * out equals left or right, or does not overlap them. Without the pragma the
 * compiler would guard the fast loop with an overlap check, which fails for an
 * in-place call.
 */

#ifndef DTYPE_KERNEL_LOOP_H
#define DTYPE_KERNEL_LOOP_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Buffers come from the user: any alignment, declared with any type. */
#ifdef __SANITIZE_THREAD__
/* Under TSan use a scalar type, which may be unaligned too. TSan would treat
 * the other type as a range, which is slow. It misses part of an access that
 * crosses eight bytes. */
typedef T stored __attribute__((may_alias));
#else
typedef T stored __attribute__((aligned(1), may_alias));
#endif

typedef T
combine_fn(T left, T right);

__attribute__((always_inline)) static inline void
loop_combine(void *out,
             const void *left,
             const void *right,
             size_t count,
             combine_fn *combine)
{
    stored *const results = out;
    const stored *const lefts = left;
    const stored *const rights = right;

#pragma omp simd
    for (size_t i = 0; i < count; i++)
        results[i] = combine(lefts[i], rights[i]);
}

/* For a power of two 1 / n is exact, and so is multiplying by it. */
static inline bool
loop_is_power(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

#endif
