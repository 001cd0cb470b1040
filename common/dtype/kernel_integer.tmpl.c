/*
 * dtype/kernel_integer.tmpl.c - combines integers T in the unsigned type A
 *
 * Unsigned arithmetic of at least 32 bits wraps where T would overflow (or
 * where the int to which it is promoted would, as for two uint16_t multiplied).
 * Division is done by multiplying, as the header QUOTIENT says.
 */

#include "dtype/kernel_loop.h"
#include "dtype/kernels.h"

#include QUOTIENT

#include "dtype/kernel_scale.h"

static inline T
integer_sum(T left, T right)
{
    return (T)((A)left + (A)right);
}

static inline T
integer_product(T left, T right)
{
    return (T)((A)left * (A)right);
}

static inline T
integer_min(T left, T right)
{
    return left < right ? left : right;
}

static inline T
integer_max(T left, T right)
{
    return left > right ? left : right;
}

static inline T
integer_bor(T left, T right)
{
    return (T)(left | right);
}

static inline T
integer_band(T left, T right)
{
    return (T)(left & right);
}

static inline T
integer_bxor(T left, T right)
{
    return (T)(left ^ right);
}

static void
sum(void *out, const void *left, const void *right, size_t count)
{
    loop_combine(out, left, right, count, integer_sum);
}

static void
product(void *out, const void *left, const void *right, size_t count)
{
    loop_combine(out, left, right, count, integer_product);
}

static void
min(void *out, const void *left, const void *right, size_t count)
{
    loop_combine(out, left, right, count, integer_min);
}

static void
max(void *out, const void *left, const void *right, size_t count)
{
    loop_combine(out, left, right, count, integer_max);
}

static void
bor(void *out, const void *left, const void *right, size_t count)
{
    loop_combine(out, left, right, count, integer_bor);
}

static void
band(void *out, const void *left, const void *right, size_t count)
{
    loop_combine(out, left, right, count, integer_band);
}

static void
bxor(void *out, const void *left, const void *right, size_t count)
{
    loop_combine(out, left, right, count, integer_bxor);
}

static void
divide(void *values, size_t count, uint32_t n)
{
    assert(n > 0);
    if (n > 1)
        loop_scale(values, count, quotient_by(n), quotient_of);
}

extern const struct kernels KERNELS;
const struct kernels KERNELS = {
    .combine =
        {
            [HOOP_SUM] = sum,
            [HOOP_PRODUCT] = product,
            [HOOP_MIN] = min,
            [HOOP_MAX] = max,
            [HOOP_BOR] = bor,
            [HOOP_BAND] = band,
            [HOOP_BXOR] = bxor,
            [HOOP_AVG] = sum,
        },
    .divide = divide,
};
