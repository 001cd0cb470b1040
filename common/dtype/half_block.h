/*
 * dtype/half_block.h - converts blocks of halves, one element at a time
 *
 * Included after half_widen() and half_narrow() are defined.
 */

#ifndef DTYPE_HALF_BLOCK_H
#define DTYPE_HALF_BLOCK_H

#include "dtype/kernel_loop.h"

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

#endif
