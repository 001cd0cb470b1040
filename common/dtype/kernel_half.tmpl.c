/*
 * dtype/kernel_half.tmpl.c - combines 16-bit floats in float, rounded once
 *
 * FORMAT is the header of their format: how a function of floats is applied to
 * arrays of them. MIN and MAX need no floats (dtype/half_extremes.h).
 */

#include "dtype/kernel_loop.h"
#include "dtype/kernels.h"

typedef float
half_fn(float left, float right);

#include FORMAT

#include "dtype/half_extremes.h"

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
