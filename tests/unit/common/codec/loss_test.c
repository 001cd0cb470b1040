/*
 * tests/unit/common/codec/loss_test.c - codec/loss.c and its kernels
 *
 * Against definitions in double arithmetic: all 65536 stored values of the two
 * halves and every float between two of them that rounds differently.
 */

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "codec/loss.h"

static float
float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint32_t
bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static float
load_one(enum codec_loss loss, uint16_t half)
{
    float value;

    loss_load(loss, (const uint8_t *)&half, 1, (uint8_t *)&value);
    return value;
}

static uint16_t
store_one(enum codec_loss loss, float value)
{
    uint16_t half;

    loss_store(loss, (const uint8_t *)&value, 1, (uint8_t *)&half);
    return half;
}

static float
round_one(enum codec_loss loss, float value)
{
    loss_round(loss, (const uint8_t *)&value, 1, (uint8_t *)&value);
    return value;
}

static double
bf16_definition(uint16_t half)
{
    const int exponent = half >> 7 & 0xff;
    const double digits = half & 0x7f;
    const double size = exponent == 0     ? ldexp(digits, -133)
                        : exponent == 255 ? INFINITY
                                          : ldexp(digits + 128, exponent - 134);

    return half >> 15 ? -size : size;
}

static double
fp16_definition(uint16_t half)
{
    const int exponent = half >> 10 & 0x1f;
    const double digits = half & 0x3ff;
    const double size = exponent == 0    ? ldexp(digits, -24)
                        : exponent == 31 ? INFINITY
                                         : ldexp(digits + 1024, exponent - 25);

    return half >> 15 ? -size : size;
}

static bool
is_nan(enum codec_loss loss, uint16_t half)
{
    return (half & 0x7fff) > (loss == LOSS_BF16 ? 0x7f80 : 0x7c00);
}

static void
require_all_come_back(enum codec_loss loss, double (*definition)(uint16_t))
{
    for (uint32_t half = 0; half <= UINT16_MAX; half++) {
        const float value = load_one(loss, (uint16_t)half);

        if (is_nan(loss, (uint16_t)half)) {
            assert_true(isnan(value));
            assert_true(is_nan(loss, store_one(loss, value)));
            continue;
        }
        assert_true((double)value == definition((uint16_t)half));
        assert_int_equal(store_one(loss, value), half);
    }
}

static void
halves_come_back_all(void **state)
{
    require_all_come_back(LOSS_BF16, bf16_definition);
    require_all_come_back(LOSS_FP16, fp16_definition);
}

/* In the middle between two neighbours the even one, beside it the nearer. */
static void
require_rounds_to_nearest(enum codec_loss loss, uint16_t infinity)
{
    for (uint16_t half = 0; half + 1 < infinity; half++) {
        const double low = (double)load_one(loss, half);
        const double high = (double)load_one(loss, half + 1);
        const float middle = (float)((low + high) / 2);
        const uint16_t even = half % 2 ? half + 1 : half;

        /* Between subnormals of bf16 lie no floats but the middle. */
        if ((double)middle != (low + high) / 2)
            continue;
        assert_int_equal(store_one(loss, middle), even);
        assert_int_equal(store_one(loss, -middle), even | 0x8000);
        assert_int_equal(store_one(loss, float_of(bits_of(middle) - 1)), half);
        assert_int_equal(store_one(loss, float_of(bits_of(middle) + 1)),
                         half + 1);
    }
}

static void
halves_round_to_nearest_even(void **state)
{
    require_rounds_to_nearest(LOSS_BF16, 0x7f80);
    require_rounds_to_nearest(LOSS_FP16, 0x7c00);
}

static void
special_floats_are_as_documented(void **state)
{
    assert_true(isinf(round_one(LOSS_FP16, 65520)));
    assert_true(round_one(LOSS_FP16, 65519) == 65504);
    assert_true(round_one(LOSS_FP16, -1e9F) == -INFINITY);
    assert_true(round_one(LOSS_FP16, 0x1p-25F) == 0);
    assert_true(round_one(LOSS_FP16, 0x1.8p-25F) == 0x1p-24F);
    assert_true(round_one(LOSS_BF16, 3.4e38F) == INFINITY ||
                round_one(LOSS_BF16, 3.4e38F) < 3.4e38F);
    assert_true(isinf(round_one(LOSS_BF16, float_of(0x7f7fffff))));
    for (enum codec_loss loss = LOSS_BF16; loss <= LOSS_INT8; loss++) {
        assert_true(isnan(round_one(loss, NAN)));
        assert_true(round_one(loss, 0) == 0);
        assert_true(loss == LOSS_INT8 ? isnan(round_one(loss, INFINITY))
                                      : isinf(round_one(loss, INFINITY)));
    }
}

static float
random_float(uint32_t *seed, int spread)
{
    *seed = *seed * 1664525 + 1013904223;
    const int exponent = spread ? (int)(*seed >> 8) % spread : 0;
    const float digits = 1 + (float)(*seed >> 9) / (float)(1 << 23);

    return ldexpf(*seed >> 31 ? -digits : digits, -exponent);
}

static void
require_block_is_near(const float *floats, const float *rounded, size_t count)
{
    float most = 0;

    for (size_t i = 0; i < count; i++)
        most = fmaxf(most, fabsf(floats[i]));
    for (size_t i = 0; i < count; i++)
        assert_true(fabsf(rounded[i] - floats[i]) <= most / 126.9F);
}

/* Any count, any magnitudes: near, and the same when done again. */
static void
int8_blocks_are_near_and_do_not_change_again(void **state)
{
    enum {
        COUNT = 5 * LOSS_BLOCK + 7
    };
    uint32_t seed = 1;

    for (unsigned run = 0; run < 400; run++) {
        float floats[COUNT];
        float rounded[COUNT];
        uint8_t stored[COUNT + COUNT / LOSS_BLOCK + 1];
        uint8_t again[sizeof(stored)];

        for (size_t i = 0; i < COUNT; i++)
            floats[i] = ldexpf(random_float(&seed, (int)(run % 40)),
                               (int)(run * 7 % 200) - 80);
        assert_int_equal(loss_n_stored(LOSS_INT8, COUNT), sizeof(stored));
        loss_store(LOSS_INT8, (const uint8_t *)floats, COUNT, stored);
        loss_load(LOSS_INT8, stored, COUNT, (uint8_t *)rounded);
        for (size_t i = 0; i < COUNT; i += LOSS_BLOCK)
            require_block_is_near(floats + i, rounded + i,
                                  COUNT - i < LOSS_BLOCK ? COUNT - i
                                                         : LOSS_BLOCK);
        loss_store(LOSS_INT8, (const uint8_t *)rounded, COUNT, again);
        assert_memory_equal(stored, again, sizeof(stored));
        loss_round(LOSS_INT8, (const uint8_t *)floats, COUNT,
                   (uint8_t *)floats);
        assert_memory_equal(floats, rounded, sizeof(floats));
    }
}

/* The largest floats there are, infinities and NaNs among others. */
static void
int8_of_extremes_does_not_change_again(void **state)
{
    static const uint32_t bits[] = {0x7f7fffff, 0xff7fffff, 0x7f7f0000,
                                    0x7f000000, 0x7f800000, 0x7fc00001,
                                    0x00000001, 0x80000000, 0x00800000};
    uint32_t seed = 7;

    for (unsigned run = 0; run < 2000; run++) {
        float floats[LOSS_BLOCK];
        float once[LOSS_BLOCK];
        float twice[LOSS_BLOCK];

        for (size_t i = 0; i < LOSS_BLOCK; i++) {
            (void)random_float(&seed, 0);
            floats[i] = float_of(bits[(seed >> 12) % (1 + run % 9)]);
        }
        loss_round(LOSS_INT8, (const uint8_t *)floats, LOSS_BLOCK,
                   (uint8_t *)once);
        loss_round(LOSS_INT8, (const uint8_t *)once, LOSS_BLOCK,
                   (uint8_t *)twice);
        assert_memory_equal(once, twice, sizeof(once));
        for (size_t i = 0; i < LOSS_BLOCK; i++)
            assert_true(isfinite(once[i]) == isfinite(floats[i]));
    }
}

static void
sizes_and_names_are_as_documented(void **state)
{
    assert_int_equal(loss_n_stored(LOSS_BF16, 7), 14);
    assert_int_equal(loss_n_stored(LOSS_FP16, 0), 0);
    assert_int_equal(loss_n_stored(LOSS_INT8, 64), 65);
    assert_int_equal(loss_n_stored(LOSS_INT8, 65), 67);
    assert_int_equal(loss_granule(LOSS_BF16), 1);
    assert_int_equal(loss_granule(LOSS_INT8), LOSS_BLOCK);
    assert_int_equal(loss_word_size(LOSS_FP16), 2);
    assert_string_equal(loss_name(LOSS_NONE), "none");
    assert_string_equal(loss_name(LOSS_INT8), "int8");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_come_back_all),
        cmocka_unit_test(halves_round_to_nearest_even),
        cmocka_unit_test(special_floats_are_as_documented),
        cmocka_unit_test(int8_blocks_are_near_and_do_not_change_again),
        cmocka_unit_test(int8_of_extremes_does_not_change_again),
        cmocka_unit_test(sizes_and_names_are_as_documented),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
