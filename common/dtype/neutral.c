/* dtype/neutral.c - elements that change nothing when they are combined */

#include "dtype/neutral.h"

#include <stdint.h>
#include <string.h>

#include "dtype/dtype.h"
#include "dtype/reduction.h"

enum {
    ELEMENT_MAX = 16,
};

static const uint8_t zeros[ELEMENT_MAX];
static const uint8_t ones[ELEMENT_MAX] = {
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
};
static const int8_t one_8 = 1;
static const int16_t one_16 = 1;
static const int32_t one_32 = 1;
static const int64_t one_64 = 1;
static const uint16_t float16[] = {0x8000, 0x3c00};
static const uint16_t bfloat16[] = {0x8000, 0x3f80};
static const float float32[] = {-0.0F, 1.0F};
static const double float64[] = {-0.0, 1.0};
static const float complex64[][2] = {{-0.0F, -0.0F}, {1.0F, 0.0F}};
static const double complex128[][2] = {{-0.0, -0.0}, {1.0, 0.0}};

static const struct neutrals {
    const void *zero;
    const void *one;
    const void *all_bits; /* NULL: dtype has no bit operators */
} neutrals[DTYPE_COUNT] = {
    [HOOP_INT8] = {zeros, &one_8, ones},
    [HOOP_UINT8] = {zeros, &one_8, ones},
    [HOOP_INT16] = {zeros, &one_16, ones},
    [HOOP_UINT16] = {zeros, &one_16, ones},
    [HOOP_INT32] = {zeros, &one_32, ones},
    [HOOP_UINT32] = {zeros, &one_32, ones},
    [HOOP_INT64] = {zeros, &one_64, ones},
    [HOOP_UINT64] = {zeros, &one_64, ones},
    [HOOP_FLOAT16] = {&float16[0], &float16[1], NULL},
    [HOOP_BFLOAT16] = {&bfloat16[0], &bfloat16[1], NULL},
    [HOOP_FLOAT32] = {&float32[0], &float32[1], NULL},
    [HOOP_FLOAT64] = {&float64[0], &float64[1], NULL},
    [HOOP_COMPLEX64] = {&complex64[0], &complex64[1], NULL},
    [HOOP_COMPLEX128] = {&complex128[0], &complex128[1], NULL},
    [HOOP_BOOL] = {zeros, &one_8, &one_8},
};

/* NULL: there is no neutral element. */
static const void *
neutral_of(enum hoop_dtype dtype, enum hoop_reduce_op op)
{
    if (!reduction_find(dtype, op))
        return NULL;
    switch (op) {
    case HOOP_SUM:
        return neutrals[dtype].zero;
    case HOOP_PRODUCT:
        return neutrals[dtype].one;
    case HOOP_BOR:
    case HOOP_BXOR:
        return zeros;
    case HOOP_BAND:
        return neutrals[dtype].all_bits;
    case HOOP_MIN:
    case HOOP_MAX:
    case HOOP_AVG:
        break;
    }
    return NULL;
}

bool
neutral_exists(enum hoop_dtype dtype, enum hoop_reduce_op op)
{
    return neutral_of(dtype, op) != NULL;
}

void
neutral_fill(enum hoop_dtype dtype,
             enum hoop_reduce_op op,
             void *values,
             size_t count)
{
    const void *neutral = neutral_of(dtype, op);
    const size_t size = dtype_size(dtype);
    uint8_t *at = values;

    for (size_t i = 0; i < count; i++)
        memcpy(at + i * size, neutral, size);
}
