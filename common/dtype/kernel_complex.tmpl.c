/*
 * dtype/kernel_complex.tmpl.c - combines pairs (real, imaginary) of float or
 * double T
 *
 * Sums and quotients are those of twice as many numbers. NaNs are treated as in
 * kernel_float.tmpl.c. A product is computed by the plain formula, without the
 * repair of infinities in C's annex G, which would cost more than the product.
 */

#include <math.h>
#include <string.h>

#include "dtype/kernel_loop.h"
#include "dtype/kernels.h"

#include LANES

struct divisor {
    T value;
};

#include "dtype/kernel_scale.h"

static inline T
complex_quiet(T value)
{
    return value == value ? value : (T)NAN;
}

static inline T
complex_sum(T left, T right)
{
    return complex_quiet(left + right);
}

static inline T
complex_scaled(T value, struct divisor inverse)
{
    return complex_quiet(value * inverse.value);
}

static inline T
complex_quotient(T value, struct divisor by)
{
    return complex_quiet(value / by.value);
}

static void
sum(void *out, const void *left, const void *right, size_t count)
{
    loop_combine(out, left, right, 2 * count, complex_sum);
}

/* The same as complex_quiet(). */
static inline void
lanes_quiet(lanes *values)
{
    const lanes_bits is_number = (lanes_bits)(*values == *values);
    const lanes nan = (lanes){0} + (T)NAN;

    *values = (lanes)(((lanes_bits)*values & is_number) |
                      ((lanes_bits)nan & ~is_number));
}

/* (a, a) (c, d) + (-b, b) (d, c). It adds instead of subtracting, since gcc 12
 * would fuse a subtraction even when told not to. */
__attribute__((always_inline)) static inline void
product_of_lanes(char *out, const char *left, const char *right)
{
    lanes x;
    lanes y;
    lanes first;
    lanes second;
    lanes swapped;

    memcpy(&x, left, sizeof(x));
    memcpy(&y, right, sizeof(y));
    lanes_first(&first, &x);
    lanes_second(&second, &x);
    lanes_swap(&swapped, &y);
    lanes_negate_first(&second);
    x = first * y + second * swapped;
    lanes_quiet(&x);
    memcpy(out, &x, sizeof(x));
}

/* Less than lanes; a formula for one element would be fused, too. */
static void
product_of_rest(char *out, const char *left, const char *right, size_t n_bytes)
{
    char lefts[sizeof(lanes)] = {0};
    char rights[sizeof(lanes)] = {0};

    memcpy(lefts, left, n_bytes);
    memcpy(rights, right, n_bytes);
    product_of_lanes(lefts, lefts, rights);
    memcpy(out, lefts, n_bytes);
}

static void
product(void *out, const void *left, const void *right, size_t count)
{
    const size_t n_bytes = 2 * count * sizeof(T);
    const size_t n_whole = n_bytes / sizeof(lanes) * sizeof(lanes);
    char *const results = out;
    const char *const lefts = left;
    const char *const rights = right;

    for (size_t i = 0; i < n_whole; i += sizeof(lanes))
        product_of_lanes(results + i, lefts + i, rights + i);
    if (n_whole < n_bytes)
        product_of_rest(results + n_whole, lefts + n_whole, rights + n_whole,
                        n_bytes - n_whole);
}

static void
divide(void *values, size_t count, uint32_t n)
{
    assert(n > 0);
    if (loop_is_power(n))
        loop_scale(values, 2 * count, (struct divisor){1 / (T)n},
                   complex_scaled);
    else
        loop_scale(values, 2 * count, (struct divisor){(T)n}, complex_quotient);
}

extern const struct kernels KERNELS;
const struct kernels KERNELS = {
    .combine =
        {
            [HOOP_SUM] = sum,
            [HOOP_PRODUCT] = product,
            [HOOP_AVG] = sum,
        },
    .divide = divide,
};
