/*
 * dtype/kernel_half.tmpl.c - combines 16-bit floats in float, rounded once
 *
 * FORMAT is the header of their format: how a function of floats is applied to
 * arrays of them. MIN and MAX need no conversion: halves are mapped to integers
 * of the same order and compared. Everything fits 16-bit lanes, so a register
 * holds sixteen: the keys are signed, and so are the magnitudes that are
 * compared to find a NaN.
 */

#include <stdint.h>

#include "dtype/kernel_loop.h"
#include "dtype/kernels.h"

typedef float
half_fn(float left, float right);

#include FORMAT

/* An integer of the same order; -0 comes right before 0. Applying it twice
 * gives the half back. */
static inline int16_t
half_order(T half)
{
    const int16_t sign = (int16_t)((int16_t)half >> 15);

    return (int16_t)(half ^ (sign & 0x7fff));
}

static inline T
half_if_numbers(int16_t order, T left, T right)
{
    const int16_t a = (int16_t)(left & 0x7fff);
    const int16_t b = (int16_t)(right & 0x7fff);
    const int16_t larger = a > b ? a : b;
    const T result = (T)half_order((T)order);

    return larger > (int16_t)HALF_INFINITY ? (T)HALF_NAN : result;
}

static inline T
half_min(T left, T right)
{
    const int16_t a = half_order(left);
    const int16_t b = half_order(right);

    return half_if_numbers(a < b ? a : b, left, right);
}

static inline T
half_max(T left, T right)
{
    const int16_t a = half_order(left);
    const int16_t b = half_order(right);

    return half_if_numbers(a > b ? a : b, left, right);
}

static inline float
half_sum(float left, float right)
{
    return left + right;
}

static inline float
half_product(float left, float right)
{
    return left * right;
}

static inline float
half_quotient(float left, float right)
{
    return left / right;
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

static void
divide(void *values, size_t count, uint32_t n)
{
    assert(n > 0);
    if (loop_is_power(n))
        half_scale(values, count, 1 / (float)n, half_product);
    else
        half_scale(values, count, (float)n, half_quotient);
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
