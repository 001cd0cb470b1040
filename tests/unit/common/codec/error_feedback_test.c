/* tests/unit/common/codec/error_feedback_test.c - codec/error_feedback.c */

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "codec/error_feedback.h"

enum {
    COUNT = 20 * LOSS_BLOCK + 7,
    STEPS = 100,
};

static float floats[COUNT];
static float residual[COUNT];
static float rounded[COUNT];

static void
carry(void)
{
    error_feedback_apply(LOSS_INT8, (const uint8_t *)floats, COUNT,
                         (uint8_t *)residual);
    loss_round(LOSS_INT8, (const uint8_t *)residual, COUNT, (uint8_t *)rounded);
}

/* Of each block one is 1, the others too small to be seen beside it. */
static float
small_float(size_t i)
{
    return i % LOSS_BLOCK == 0
               ? 1
               : (float)(i % 13) * 0x1p-11F * (i % 2 == 0 ? 1.0F : -1.0F);
}

static void
what_is_lost_comes_later(void **state)
{
    static double sums[COUNT];
    double worst = 0;
    double worst_without = 0;

    memset(residual, 0, sizeof(residual));
    for (unsigned step = 0; step < STEPS; step++) {
        for (size_t i = 0; i < COUNT; i++)
            floats[i] = small_float(i);
        carry();
        for (size_t i = 0; i < COUNT; i++)
            sums[i] += (double)rounded[i];
    }
    loss_round(LOSS_INT8, (const uint8_t *)floats, COUNT, (uint8_t *)rounded);
    for (size_t i = 0; i < COUNT; i++) {
        const double exact = STEPS * (double)floats[i];

        worst = fmax(worst, fabs(sums[i] - exact));
        worst_without =
            fmax(worst_without, fabs(STEPS * (double)rounded[i] - exact));
    }
    /* Half a step of blocks whose largest is 1. */
    assert_true(worst <= 1 / 126.0);
    assert_true(worst_without > 10 * worst);
}

static void
what_is_no_number_leaves_nothing(void **state)
{
    memset(residual, 0, sizeof(residual));
    for (size_t i = 0; i < COUNT; i++)
        floats[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? -INFINITY : 0.3F;
    carry();
    for (size_t i = 0; i < COUNT; i++)
        assert_true(i % 3 == 2 ? fabsf(rounded[i] - 0.3F) < 0.01F
                               : isnan(rounded[i]));
    for (size_t i = 0; i < COUNT; i++)
        floats[i] = 0.25F;
    carry();
    for (size_t i = 0; i < COUNT; i++)
        assert_true(fabsf(residual[i] - 0.25F) <= 0.01F &&
                    fabsf(rounded[i] - 0.25F) <= 0.01F);
}

static void
largest_and_smallest_stay_finite(void **state)
{
    static const float values[] = {FLT_MAX, -FLT_MAX,    FLT_MIN, FLT_MIN / 4,
                                   0,       FLT_MAX / 2, 1};

    memset(residual, 0, sizeof(residual));
    for (unsigned step = 0; step < 50; step++) {
        for (size_t i = 0; i < COUNT; i++)
            floats[i] = values[(i * 31 + step) % COUNT_OF(values)];
        carry();
        for (size_t i = 0; i < COUNT; i++)
            assert_true(isfinite(residual[i]) && isfinite(rounded[i]));
    }
    for (size_t i = 0; i < COUNT; i++)
        floats[i] = FLT_MIN / 8;
    memset(residual, 0, sizeof(residual));
    for (unsigned step = 0; step < 10; step++)
        carry();
    for (size_t i = 0; i < COUNT; i++)
        assert_true(residual[i] < FLT_MIN && residual[i] >= 0);
}

static void
nothing_held_changes_nothing(void **state)
{
    memset(residual, 0, sizeof(residual));
    for (size_t i = 0; i < COUNT; i++)
        floats[i] = small_float(i);
    carry();
    for (size_t i = 0; i < COUNT; i++)
        assert_true(residual[i] == floats[i]);
    error_feedback_apply(LOSS_INT8, NULL, 0, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_lost_comes_later),
        cmocka_unit_test(what_is_no_number_leaves_nothing),
        cmocka_unit_test(largest_and_smallest_stay_finite),
        cmocka_unit_test(nothing_held_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
