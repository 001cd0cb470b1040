/*
 * dtype/kernel_half.tmpl.c - 16-bit floats, combined in float A, rounded once
 *
 * FORMAT is the header that knows their bits: how up to HALF_BLOCK of them
 * become floats and back. MIN and MAX need no conversion: as integers of the
 * same order, halves compare directly.
 *
 * No test of its own: reduction_test.c compares every kernel.
 */

#include "dtype/kernel_loop.h"
#include "dtype/kernels.h"
#include FORMAT

typedef A
half_fn(A left, A right);

static inline A
half_sum(A left, A right)
{
    return left + right;
}

static inline A
half_product(A left, A right)
{
    return left * right;
}

/* Negative numbers grow downwards; -0 comes right before 0. */
static inline int16_t
half_order(T half)
{
    return (int16_t)(half & 0x8000 ? half ^ 0x7fff : half);
}

static inline T
half_if_numbers(T result, T left, T right)
{
    const T a = left & 0x7fff;
    const T b = right & 0x7fff;
    const T larger = a > b ? a : b;

    return larger > HALF_INFINITY ? HALF_NAN : result;
}

static inline T
half_min(T left, T right)
{
    const T least = half_order(left) < half_order(right) ? left : right;

    return half_if_numbers(least, left, right);
}

static inline T
half_max(T left, T right)
{
    const T most = half_order(left) > half_order(right) ? left : right;

    return half_if_numbers(most, left, right);
}

__attribute__((always_inline)) static inline void
half_combine_block(stored *results,
                   const stored *lefts,
                   const stored *rights,
                   size_t count,
                   half_fn *combine)
{
    A a[HALF_BLOCK];
    A b[HALF_BLOCK];

    half_widen_block(a, lefts, count);
    half_widen_block(b, rights, count);
    for (size_t i = 0; i < count; i++)
        a[i] = combine(a[i], b[i]);
    half_narrow_block(results, a, count);
}

/* Whole blocks have a constant count, and the compiler unrolls them. */
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

static void
sum(void *out, const void *left, const void *right, size_t count)
{
    half_combine(out, left, right, count, half_sum);
}

static void
product(void *out, const void *left, const void *right, size_t count)
{
    half_combine(out, left, right, count, half_product);
}

static void
min(void *out, const void *left, const void *right, size_t count)
{
    loop_combine(out, left, right, count, half_min);
}

static void
max(void *out, const void *left, const void *right, size_t count)
{
    loop_combine(out, left, right, count, half_max);
}

__attribute__((always_inline)) static inline void
half_divide_block(stored *quotients, size_t count, A n)
{
    A a[HALF_BLOCK];

    half_widen_block(a, quotients, count);
    for (size_t i = 0; i < count; i++)
        a[i] /= n;
    half_narrow_block(quotients, a, count);
}

static void
divide(void *values, size_t count, uint32_t n)
{
    stored *const quotients = values;
    size_t i = 0;

    assert(n > 0);
    for (; i + HALF_BLOCK <= count; i += HALF_BLOCK)
        half_divide_block(quotients + i, HALF_BLOCK, (A)n);
    if (i < count)
        half_divide_block(quotients + i, count - i, (A)n);
}

extern const struct kernels KERNELS;
const struct kernels KERNELS = {
    .combine =
        {
            [HOOP_SUM] = sum,
            [HOOP_PRODUCT] = product,
            [HOOP_MIN] = min,
            [HOOP_MAX] = max,
            [HOOP_AVG] = sum,
        },
    .divide = divide,
};
