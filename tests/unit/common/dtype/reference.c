/*
 * tests/unit/common/dtype/reference.c - reductions of one element
 *
 * Integers are combined in 128 bits and cut; halves are taken apart by
 * ldexp() and put together by rint(); float32 is computed in double, whose
 * second rounding is harmless for one operation.
 */

#include "reference.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "dtype/dtype.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 wide_bits;

struct format {
    int n_mantissa;
    int least; /* exponent of the smallest normal number */
    int most;  /* ... and of the largest */
};

static const struct format float16 = {10, -14, 15};
static const struct format bfloat16 = {7, -126, 127};

static bool
is_integer(enum hoop_dtype dtype)
{
    return dtype <= HOOP_UINT64;
}

static bool
is_complex(enum hoop_dtype dtype)
{
    return dtype == HOOP_COMPLEX64 || dtype == HOOP_COMPLEX128;
}

bool
reference_has(enum hoop_dtype dtype, enum hoop_reduce_op op)
{
    switch (op) {
    case HOOP_SUM:
    case HOOP_PRODUCT:
        return true;
    case HOOP_MIN:
    case HOOP_MAX:
        return !is_complex(dtype);
    case HOOP_BOR:
    case HOOP_BAND:
    case HOOP_BXOR:
        return is_integer(dtype) || dtype == HOOP_BOOL;
    case HOOP_AVG:
        return dtype != HOOP_BOOL;
    }
    return false;
}

static wide
integer_load(const void *value, enum hoop_dtype dtype)
{
    const size_t size = dtype_size(dtype);
    const bool is_signed = dtype % 2 == 0;
    uint64_t bits = 0;

    memcpy(&bits, value, size);
    const wide weight = (wide)1 << (8 * size);
    const bool is_negative = is_signed && bits >> (8 * size - 1) != 0;
    return is_negative ? (wide)bits - weight : (wide)bits;
}

static wide_bits
integer_combine(wide left, wide right, enum hoop_reduce_op op)
{
    switch (op) {
    case HOOP_SUM:
    case HOOP_AVG:
        return (wide_bits)(left + right);
    case HOOP_PRODUCT:
        return (wide_bits)left * (wide_bits)right;
    case HOOP_MIN:
        return (wide_bits)(left < right ? left : right);
    case HOOP_MAX:
        return (wide_bits)(left < right ? right : left);
    case HOOP_BOR:
        return (wide_bits)left | (wide_bits)right;
    case HOOP_BAND:
        return (wide_bits)left & (wide_bits)right;
    case HOOP_BXOR:
        return (wide_bits)left ^ (wide_bits)right;
    }
    assert(false);
    return 0;
}

static double
half_load(uint16_t half, const struct format *format)
{
    const int n_mantissa = format->n_mantissa;
    const int fraction = half & ((1 << n_mantissa) - 1);
    const int exponent = (half & 0x7fff) >> n_mantissa;
    const double sign = half & 0x8000 ? -1 : 1;
    const int one = exponent > 0 ? 1 << n_mantissa : 0;
    const int shift = exponent > 0 ? exponent - 1 : 0;

    if (format->least + exponent - 1 > format->most)
        return fraction ? NAN : sign * INFINITY;
    return sign * ldexp(one + fraction, format->least + shift - n_mantissa);
}

static uint16_t
half_store(double value, const struct format *format)
{
    const int n_mantissa = format->n_mantissa;
    const int infinity = 0x7fff >> n_mantissa << n_mantissa;
    const int sign = signbit(value) ? 0x8000 : 0;

    if (isnan(value))
        return (uint16_t)(infinity | 1 << (n_mantissa - 1));
    if (isinf(value))
        return (uint16_t)(sign | infinity);
    if (value == 0)
        return (uint16_t)sign;

    const int logarithm = ilogb(value);
    const int exponent = logarithm > format->least ? logarithm : format->least;
    const double steps = rint(ldexp(fabs(value), n_mantissa - exponent));
    /* Rounding up to the next power of two carries into the exponent. */
    const double bits = steps + ldexp(exponent - format->least, n_mantissa);
    return (uint16_t)(sign | (bits < infinity ? (int)bits : infinity));
}

double
reference_load(const void *value, enum hoop_dtype dtype)
{
    uint16_t half = 0;
    float single = 0;
    double number = 0;

    if (dtype == HOOP_FLOAT32) {
        memcpy(&single, value, sizeof(single));
        return (double)single;
    }
    if (dtype == HOOP_FLOAT64) {
        memcpy(&number, value, sizeof(number));
        return number;
    }
    memcpy(&half, value, sizeof(half));
    return half_load(half, dtype == HOOP_FLOAT16 ? &float16 : &bfloat16);
}

void
reference_store(void *out, enum hoop_dtype dtype, double value)
{
    static const uint32_t nan_single = 0x7fc00000;
    static const uint64_t nan_double = 0x7ff8000000000000;
    const float single = (float)value;

    if (dtype == HOOP_FLOAT32) {
        memcpy(out, &single, sizeof(single));
        if (isnan(value))
            memcpy(out, &nan_single, sizeof(nan_single));
        return;
    }
    if (dtype == HOOP_FLOAT64) {
        memcpy(out, &value, sizeof(value));
        if (isnan(value))
            memcpy(out, &nan_double, sizeof(nan_double));
        return;
    }
    const uint16_t half =
        half_store(value, dtype == HOOP_FLOAT16 ? &float16 : &bfloat16);
    memcpy(out, &half, sizeof(half));
}

static double
float_combine(double left, double right, enum hoop_reduce_op op)
{
    if (op == HOOP_SUM || op == HOOP_AVG)
        return left + right;
    if (op == HOOP_PRODUCT)
        return left * right;
    if (isnan(left) || isnan(right))
        return NAN;

    const bool left_is_less =
        left == right ? (bool)signbit(left) : left < right;
    return left_is_less == (op == HOOP_MIN) ? left : right;
}

/* Through memory after every step, so that nothing is contracted. */
static double
part_combine(double left,
             double right,
             enum hoop_dtype part,
             enum hoop_reduce_op op)
{
    char bytes[sizeof(double)];

    reference_store(bytes, part, float_combine(left, right, op));
    return reference_load(bytes, part);
}

static void
complex_combine(void *out,
                const void *left,
                const void *right,
                enum hoop_dtype part,
                enum hoop_reduce_op op)
{
    const size_t size = dtype_size(part);
    const double a = reference_load(left, part);
    const double b = reference_load((const char *)left + size, part);
    const double c = reference_load(right, part);
    const double d = reference_load((const char *)right + size, part);
    const bool is_product = op == HOOP_PRODUCT;

    const double x = is_product ? part_combine(a, c, part, op) : a;
    const double y = is_product ? -part_combine(b, d, part, op) : c;
    const double z = is_product ? part_combine(a, d, part, op) : b;
    const double w = is_product ? part_combine(b, c, part, op) : d;

    reference_store(out, part, x + y);
    reference_store((char *)out + size, part, z + w);
}

static enum hoop_dtype
complex_part(enum hoop_dtype dtype)
{
    return dtype == HOOP_COMPLEX64 ? HOOP_FLOAT32 : HOOP_FLOAT64;
}

void
reference_combine(void *out,
                  const void *left,
                  const void *right,
                  enum hoop_dtype dtype,
                  enum hoop_reduce_op op)
{
    if (is_complex(dtype)) {
        complex_combine(out, left, right, complex_part(dtype), op);
        return;
    }
    if (is_integer(dtype)) {
        const wide_bits bits = integer_combine(integer_load(left, dtype),
                                               integer_load(right, dtype), op);
        memcpy(out, &bits, dtype_size(dtype));
        return;
    }
    if (dtype == HOOP_BOOL) {
        const bool a = *(const uint8_t *)left;
        const bool b = *(const uint8_t *)right;
        const int n_true = a + b;
        const bool is_and =
            op == HOOP_BAND || op == HOOP_MIN || op == HOOP_PRODUCT;
        const bool is_xor = op == HOOP_BXOR;
        *(uint8_t *)out = is_xor ? n_true == 1 : n_true > (is_and ? 1 : 0);
        return;
    }
    reference_store(out, dtype,
                    float_combine(reference_load(left, dtype),
                                  reference_load(right, dtype), op));
}

void
reference_divide(void *value, enum hoop_dtype dtype, uint32_t n)
{
    if (is_integer(dtype)) {
        const wide quotient = integer_load(value, dtype) / (wide)n;
        memcpy(value, &quotient, dtype_size(dtype));
        return;
    }
    if (is_complex(dtype)) {
        const enum hoop_dtype part = complex_part(dtype);
        reference_divide(value, part, n);
        reference_divide((char *)value + dtype_size(part), part, n);
        return;
    }
    if (dtype == HOOP_FLOAT64) {
        reference_store(value, dtype, reference_load(value, dtype) / n);
        return;
    }
    const double rounded_n = (double)(float)n;
    const float quotient = (float)(reference_load(value, dtype) / rounded_n);
    reference_store(value, dtype, (double)quotient);
}
