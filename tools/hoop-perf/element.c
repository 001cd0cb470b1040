/* hoop-perf/element.c - encodes small whole numbers as elements of any dtype */

#include "hoop-perf/element.h"

#include <string.h>
#include <strings.h>

struct kind {
    const char *name;
    int64_t exact_max;
};

static const struct kind kinds[] = {
    [HOOP_INT8] = {"i8", INT8_MAX},
    [HOOP_UINT8] = {"u8", UINT8_MAX},
    [HOOP_INT16] = {"i16", INT16_MAX},
    [HOOP_UINT16] = {"u16", UINT16_MAX},
    [HOOP_INT32] = {"i32", INT32_MAX},
    [HOOP_UINT32] = {"u32", UINT32_MAX},
    [HOOP_INT64] = {"i64", INT64_MAX},
    [HOOP_UINT64] = {"u64", INT64_MAX},
    [HOOP_FLOAT16] = {"f16", 1 << 11},
    [HOOP_BFLOAT16] = {"bf16", 1 << 8},
    [HOOP_FLOAT32] = {"f32", 1 << 24},
    [HOOP_FLOAT64] = {"f64", (int64_t)1 << 53},
    [HOOP_COMPLEX64] = {"c64", 1 << 24},
    [HOOP_COMPLEX128] = {"c128", (int64_t)1 << 53},
    [HOOP_BOOL] = {"bool", 1},
};

static const enum hoop_reduce_op reduce_ops[] = {
    HOOP_SUM, HOOP_PRODUCT, HOOP_MIN,  HOOP_MAX,
    HOOP_BOR, HOOP_BAND,    HOOP_BXOR, HOOP_AVG,
};

enum hoop_status
element_parse_dtype(const char *text, enum hoop_dtype *out_dtype)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcasecmp(text, kinds[i].name) != 0 &&
            strcasecmp(text, hoop_dtype_name((enum hoop_dtype)i)) != 0)
            continue;
        *out_dtype = (enum hoop_dtype)i;
        return HOOP_OK;
    }
    return HOOP_E_INVALID;
}

enum hoop_status
element_parse_reduce_op(const char *text, enum hoop_reduce_op *out_op)
{
    if (strcasecmp(text, "prod") == 0)
        text = hoop_reduce_op_name(HOOP_PRODUCT);
    for (size_t i = 0; i < sizeof(reduce_ops) / sizeof(reduce_ops[0]); i++) {
        if (strcasecmp(text, hoop_reduce_op_name(reduce_ops[i])) != 0)
            continue;
        *out_op = reduce_ops[i];
        return HOOP_OK;
    }
    return HOOP_E_INVALID;
}

const char *
element_name(enum hoop_dtype dtype)
{
    return kinds[dtype].name;
}

bool
element_is_complex(enum hoop_dtype dtype)
{
    return dtype == HOOP_COMPLEX64 || dtype == HOOP_COMPLEX128;
}

int64_t
element_exact_max(enum hoop_dtype dtype)
{
    return kinds[dtype].exact_max;
}

/* value is at most 2048, up to which binary16 is exact. */
static uint16_t
half_bits(int64_t value)
{
    const uint64_t sign = value < 0 ? 0x8000 : 0;
    const uint64_t magnitude = (uint64_t)(value < 0 ? -value : value);

    if (magnitude == 0)
        return 0;
    const int exponent = 63 - __builtin_clzll(magnitude);
    const uint64_t fraction = exponent <= 10 ? magnitude << (10 - exponent)
                                             : magnitude >> (exponent - 10);
    return (uint16_t)(sign | (uint64_t)(exponent + 15) << 10 |
                      (fraction & 0x3ff));
}

static uint16_t
bfloat_bits(int64_t value)
{
    const float wide = (float)value;
    uint32_t bits = 0;

    memcpy(&bits, &wide, sizeof(bits));
    return (uint16_t)(bits >> 16);
}

void
element_encode(enum hoop_dtype dtype, struct number number, void *out_bytes)
{
    const float singles[] = {(float)number.real, (float)number.imaginary};
    const double doubles[] = {(double)number.real, (double)number.imaginary};
    const void *bytes = &number.real;
    uint16_t half = 0;
    uint8_t truth = 0;

    switch (dtype) {
    case HOOP_INT8:
    case HOOP_UINT8:
    case HOOP_INT16:
    case HOOP_UINT16:
    case HOOP_INT32:
    case HOOP_UINT32:
    case HOOP_INT64:
    case HOOP_UINT64:
        /* Little-endian: the low bytes come first. */
        break;
    case HOOP_FLOAT16:
        half = half_bits(number.real);
        bytes = &half;
        break;
    case HOOP_BFLOAT16:
        half = bfloat_bits(number.real);
        bytes = &half;
        break;
    case HOOP_FLOAT32:
    case HOOP_COMPLEX64:
        bytes = singles;
        break;
    case HOOP_FLOAT64:
    case HOOP_COMPLEX128:
        bytes = doubles;
        break;
    case HOOP_BOOL:
        truth = number.real != 0;
        bytes = &truth;
        break;
    }
    memcpy(out_bytes, bytes, hoop_dtype_size(dtype));
}
