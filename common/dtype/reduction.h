/*
 * dtype/reduction.h - elementwise combination, one table [dtype][operator]
 *
 * The fastest kernel this processor runs is chosen once (plain, AVX2,
 * AVX-512); all of them give the same bits. Thread: any.
 */

#ifndef DTYPE_REDUCTION_H
#define DTYPE_REDUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/dtype.h"

/*
 * out[i] = left[i] (op) right[i]. Any alignment. out may be left or right, and
 * must not overlap them otherwise. AVG combines as SUM does.
 */
typedef void
reduction_fn(void *out, const void *left, const void *right, size_t count);

/* values[i] /= n, integers truncating toward zero: what AVG ends with. */
typedef void
division_fn(void *values, size_t count, uint32_t n);

/* NULL when the pair has no meaning (hoop/dtype.h) or is unknown. */
reduction_fn *
reduction_find(enum hoop_dtype dtype, enum hoop_reduce_op op);

/* NULL for bool and unknown dtypes. */
division_fn *
division_find(enum hoop_dtype dtype);

/* For tests and benchmarks: which set of kernels to use from now on. */
enum reduction_level {
    REDUCTION_PLAIN,
    REDUCTION_AVX2,
    REDUCTION_AVX512,
};

/* The best this processor runs. */
enum reduction_level
reduction_level_best(void);

/* As reduction_find() and division_find(), for one level. */
reduction_fn *
reduction_find_at(enum reduction_level level,
                  enum hoop_dtype dtype,
                  enum hoop_reduce_op op);
division_fn *
division_find_at(enum reduction_level level, enum hoop_dtype dtype);

#endif
