/*
 * dtype/reduction.h - elementwise combination, by a table [dtype][operator]
 *
 * The fastest kernels that this processor runs (plain, AVX2, AVX-512) are
 * chosen once. All of them give the same bits.
 *
 * Thread: any.
 */

#ifndef DTYPE_REDUCTION_H
#define DTYPE_REDUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/dtype.h"

/*
 * out[i] = left[i] (op) right[i]. Any alignment. out may be left or right, and
 * must not overlap them otherwise. All may be NULL if count is 0. AVG combines
 * as SUM does.
 *
 * Floats: the bits of a result depend only on the values, not on the processor,
 * the level or the position of an element in a call. A result that is NaN is
 * always the positive quiet NaN without payload (0x7fc00000 for float32),
 * whichever NaN or invalid operation caused it. MIN and MAX with a NaN operand
 * are NaN, and -0 is less than 0, so both orders of the operands give the same
 * bits. Subnormals are kept. Halves are combined in float32 and rounded to
 * nearest, ties to even. A complex product is (ac - bd, ad + bc), every step
 * rounded, and the rules hold for each part.
 */
typedef void
reduction_fn(void *out, const void *left, const void *right, size_t count);

/*
 * values[i] /= n, the last step of AVG. Integers are truncated toward zero. n
 * is not 0. Floats divide by n rounded to their type (halves in float32).
 */
typedef void
division_fn(void *values, size_t count, uint32_t n);

/*
 * The last step of a reduction of a single operand: bools become 0 or 1, as
 * with more operands; elements of other types stay as they are. values may be
 * NULL if count is 0.
 */
void
reduction_of_one(enum hoop_dtype dtype, void *values, size_t count);

/* NULL if dtype does not support op (hoop/dtype.h) or either is unknown. */
reduction_fn *
reduction_find(enum hoop_dtype dtype, enum hoop_reduce_op op);

/* NULL for bool and unknown dtypes. */
division_fn *
division_find(enum hoop_dtype dtype);

/* Sets of kernels. Tests and benchmarks ask for one, others use the best. */
enum reduction_level {
    REDUCTION_PLAIN,
    REDUCTION_AVX2,
    REDUCTION_AVX512,
};

/* The best that this processor runs. */
enum reduction_level
reduction_level_best(void);

/*
 * The same as reduction_find() and division_find(), for one level. NULL also if
 * this processor cannot run it.
 */
reduction_fn *
reduction_find_at(enum reduction_level level,
                  enum hoop_dtype dtype,
                  enum hoop_reduce_op op);
division_fn *
division_find_at(enum reduction_level level, enum hoop_dtype dtype);

#endif
