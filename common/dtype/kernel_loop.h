/*
 * dtype/kernel_loop.h - the loops that all kernels share, over elements T
 *
 * Callers pass a constant function: inlined, it leaves a plain loop for the
 * vectoriser. The simd pragma is the promise that reduction.h asks of the
 * caller (out is left, right or apart): without it the compiler would guard
 * the fast loop with an overlap check, which the in-place call fails.
 */

#ifndef DTYPE_KERNEL_LOOP_H
#define DTYPE_KERNEL_LOOP_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Buffers are the user's: of any alignment and declared with any type. */
#ifdef __SANITIZE_THREAD__
/* Scalar, and of any alignment all the same: the other would be a range for
 * TSan, which is slow. Of what crosses eight bytes it sees a part. */
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

/* 1 / n is exact then, and so is multiplying by it. */
static inline bool
loop_is_power(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

#endif
