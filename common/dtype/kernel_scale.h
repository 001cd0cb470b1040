/*
 * dtype/kernel_scale.h - the loop of a division, over elements T
 *
 * Included after struct divisor is defined, which is computed once from n.
 */

#ifndef DTYPE_KERNEL_SCALE_H
#define DTYPE_KERNEL_SCALE_H

#include "dtype/kernel_loop.h"

typedef T
scale_fn(T value, struct divisor by);

__attribute__((always_inline)) static inline void
loop_scale(void *values, size_t count, struct divisor by, scale_fn *scale)
{
    stored *const elements = values;

#pragma omp simd
    for (size_t i = 0; i < count; i++)
        elements[i] = scale(elements[i], by);
}

#endif
