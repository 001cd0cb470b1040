/*
 * dtype/kernel_complex.tmpl.c - pairs (real, imaginary) of float or double T
 *
 * Sums and quotients are those of twice as many numbers. NaNs as in
 * kernel_float.tmpl.c. A product is the schoolbook's: no repair of infinities
 * (C's annex G), which would cost more than the product.
 *
 * No test of its own: reduction_test.c compares every kernel.
 */

#include <math.h>

#include "dtype/kernel_loop.h"
#include "dtype/kernels.h"

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
complex_quotient(T value, uint32_t n)
{
    return complex_quiet(value / (T)n);
}

static void
sum(void *out, const void *left, const void *right, size_t count)
{
    loop_combine(out, left, right, 2 * count, complex_sum);
}

/*
 * gcc 12 makes fused fmaddsub of alternating sums of products even when told
 * not to contract; the detour through complex_quiet() changes no result and
 * keeps the product out of its sight.
 */
static void
product(void *out, const void *left, const void *right, size_t count)
{
    stored *const results = out;
    const stored *const lefts = left;
    const stored *const rights = right;

#pragma omp simd
    for (size_t i = 0; i < count; i++) {
        const T a = lefts[2 * i];
        const T b = lefts[2 * i + 1];
        const T c = rights[2 * i];
        const T d = rights[2 * i + 1];

        results[2 * i] =
            complex_quiet(complex_quiet(a * c) - complex_quiet(b * d));
        results[2 * i + 1] =
            complex_quiet(complex_quiet(a * d) + complex_quiet(b * c));
    }
}

static void
divide(void *values, size_t count, uint32_t n)
{
    loop_divide(values, 2 * count, n, complex_quotient);
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
