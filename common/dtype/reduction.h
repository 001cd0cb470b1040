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
 * must not overlap them otherwise. All may be NULL when count is 0. AVG
 * combines as SUM does.
 *
 * Floats: the bits of a result depend on the values alone, not on the
 * processor, on the level or on where an element stands in a call. A result
 * that is NaN is always the positive quiet NaN without payload (0x7fc00000 for
 * float32), whichever NaN or invalid operation it came from. MIN and MAX of a
 * NaN and anything are NaN, and -0 is less than 0: they give the same bits for
 * either order of the operands. Subnormals are kept. Halves are combined in
 * float32 and rounded to nearest, ties to even. A complex product is
 * (ac - bd, ad + bc), every step rounded, and the rules hold for each part.
 */
typedef void
reduction_fn(void *out, const void *left, const void *right, size_t count);

/*
 * values[i] /= n, integers truncating toward zero: what AVG ends with. n is not
 * 0. Floats divide by n rounded to their type (halves in float32).
 */
typedef void
division_fn(void *values, size_t count, uint32_t n);

/*
 * What a reduction of a single operand ends with: bools become 0 or 1, as those
 * of more operands are; elements of any other type are the result as they are.
 * values may be NULL when count is 0.
 */
void
reduction_of_one(enum hoop_dtype dtype, void *values, size_t count);

/* NULL when the pair has no meaning (hoop/dtype.h) or is unknown. */
reduction_fn *
reduction_find(enum hoop_dtype dtype, enum hoop_reduce_op op);

/* NULL for bool and unknown dtypes. */
division_fn *
division_find(enum hoop_dtype dtype);

/* Sets of kernels; tests and benchmarks ask for one, others take the best. */
enum reduction_level {
    REDUCTION_PLAIN,
    REDUCTION_AVX2,
    REDUCTION_AVX512,
};

/* The best this processor runs. */
enum reduction_level
reduction_level_best(void);

/*
 * As reduction_find() and division_find(), for one level; NULL also when this
 * processor does not run it.
 */
reduction_fn *
reduction_find_at(enum reduction_level level,
                  enum hoop_dtype dtype,
                  enum hoop_reduce_op op);
division_fn *
division_find_at(enum reduction_level level, enum hoop_dtype dtype);

#endif
