/*
 * dtype/kernel_float.tmpl.c - combines float and double T, with bits in the
 * integer BITS
 *
 * Every NaN result is replaced by one quiet NaN: which of two payloads survives
 * an addition depends on how the compiler ordered the operands, and the NaN of
 * inf - inf has another sign on another processor.
 */

#include <math.h>

#include "dtype/kernel_loop.h"
#include "dtype/kernels.h"

struct divisor {
    T value;
};

#include "dtype/kernel_scale.h"

union float_bits {
    T value;
    BITS bits;
};

static inline T
float_quiet(T value)
{
    return value == value ? value : (T)NAN;
}

static inline T
float_sum(T left, T right)
{
    return float_quiet(left + right);
}

static inline T
float_product(T left, T right)
{
    return float_quiet(left * right);
}

/*
 * Both orders of the comparison give the same number, or two zeros whose signs
 * may differ: 'or' keeps the minus, 'and' drops it.
 */
static inline T
float_min(T left, T right)
{
    const union float_bits a = {.value = left < right ? left : right};
    const union float_bits b = {.value = right < left ? right : left};
    const union float_bits least = {.bits = a.bits | b.bits};

    return isunordered(left, right) ? (T)NAN : least.value;
}

static inline T
float_max(T left, T right)
{
    const union float_bits a = {.value = left > right ? left : right};
    const union float_bits b = {.value = right > left ? right : left};
    const union float_bits most = {.bits = a.bits & b.bits};

    return isunordered(left, right) ? (T)NAN : most.value;
}

static inline T
float_scaled(T value, struct divisor inverse)
{
    return float_quiet(value * inverse.value);
}

static inline T
float_quotient(T value, struct divisor by)
{
    return float_quiet(value / by.value);
}

static void
sum(void *out, const void *left, const void *right, size_t count)
{
    loop_combine(out, left, right, count, float_sum);
}

static void
product(void *out, const void *left, const void *right, size_t count)
{
    loop_combine(out, left, right, count, float_product);
}

static void
min(void *out, const void *left, const void *right, size_t count)
{
    loop_combine(out, left, right, count, float_min);
}

static void
max(void *out, const void *left, const void *right, size_t count)
{
    loop_combine(out, left, right, count, float_max);
}

static void
divide(void *values, size_t count, uint32_t n)
{
    assert(n > 0);
    if (loop_is_power(n))
        loop_scale(values, count, (struct divisor){1 / (T)n}, float_scaled);
    else
        loop_scale(values, count, (struct divisor){(T)n}, float_quotient);
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
