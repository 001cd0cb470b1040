/* tests/unit/tools/hoop-sim/log_scale_test.c - hoop-sim/log_scale.c */

#include <math.h>

#include "check.h"
#include "hoop-sim/log_scale.h"

static void
places_are_even_for_equal_factors(void **state)
{
    const struct log_scale scale = {
        .low = 1, .high = 10000, .begin = 300, .end = 100};

    (void)state;
    assert_true(fabs(log_scale_place(&scale, 1) - 300) < 1e-6);
    assert_true(fabs(log_scale_place(&scale, 10) - 250) < 1e-6);
    assert_true(fabs(log_scale_place(&scale, 10000) - 100) < 1e-6);
}

static void
single_value_stands_in_the_middle(void **state)
{
    const struct log_scale scale = {
        .low = 7, .high = 7, .begin = 0, .end = 100};

    (void)state;
    assert_true(fabs(log_scale_place(&scale, 7) - 50) < 1e-6);
}

static void
decades_enclose_a_value(void **state)
{
    (void)state;
    assert_true(fabs(log_scale_decade_below(47) - 10) < 1e-6);
    assert_true(fabs(log_scale_decade_above(47) - 100) < 1e-6);
    assert_true(fabs(log_scale_decade_below(1000) - 1000) < 1e-6);
    assert_true(fabs(log_scale_decade_above(1000) - 1000) < 1e-6);
    assert_true(fabs(log_scale_decade_below(0.03) - 0.01) < 1e-9);
}

static void
times_and_counts_have_short_names(void **state)
{
    char text[LOG_SCALE_TEXT];

    (void)state;
    log_scale_time_text(0.1, text);
    assert_string_equal(text, "0.1 us");
    log_scale_time_text(pow(10, 3), text);
    assert_string_equal(text, "1 ms");
    log_scale_time_text(1e7, text);
    assert_string_equal(text, "10 s");
    log_scale_count_text(4096, text);
    assert_string_equal(text, "4096");
    log_scale_count_text(100000, text);
    assert_string_equal(text, "100k");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_even_for_equal_factors),
        cmocka_unit_test(single_value_stands_in_the_middle),
        cmocka_unit_test(decades_enclose_a_value),
        cmocka_unit_test(times_and_counts_have_short_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
