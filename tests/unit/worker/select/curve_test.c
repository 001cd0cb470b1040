/* tests/unit/worker/select/curve_test.c - select/builder.c */

#include "check.h"
#include "select/builder.h"

static void
one_sample_is_the_same_everywhere(void **state)
{
    struct curve curve = {.n_samples = 0};

    (void)state;
    curve_add_sample(&curve, 64, 10);
    assert_true(curve_cost_at(&curve, 0) == 10);
    assert_true(curve_cost_at(&curve, 1e9) == 10);
}

static void
lines_go_through_the_samples_and_on(void **state)
{
    struct curve curve = {.n_samples = 0};

    (void)state;
    curve_add_sample(&curve, 300, 50); /* in any order */
    curve_add_sample(&curve, 100, 10);
    curve_add_sample(&curve, 200, 20);
    assert_int_equal(curve.n_samples, 3);
    assert_true(curve_cost_at(&curve, 100) == 10);
    assert_true(curve_cost_at(&curve, 150) == 15);
    assert_true(curve_cost_at(&curve, 200) == 20);
    assert_true(curve_cost_at(&curve, 250) == 35);
    assert_true(curve_cost_at(&curve, 400) == 80);
    assert_true(curve_cost_at(&curve, 0) == 0);
}

static void
same_size_is_sampled_once(void **state)
{
    struct curve curve = {.n_samples = 0};

    (void)state;
    curve_add_sample(&curve, 8, 1);
    curve_add_sample(&curve, 8, 2);
    assert_int_equal(curve.n_samples, 1);
    assert_true(curve_cost_at(&curve, 8) == 1);
}

static void
full_curve_takes_no_more(void **state)
{
    struct curve curve = {.n_samples = 0};

    (void)state;
    for (unsigned i = 0; i < 2 * CURVE_SAMPLES; i++)
        curve_add_sample(&curve, i, i);
    assert_int_equal(curve.n_samples, CURVE_SAMPLES);
    assert_true(curve_cost_at(&curve, 1.5) == 1.5);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_sample_is_the_same_everywhere),
        cmocka_unit_test(lines_go_through_the_samples_and_on),
        cmocka_unit_test(same_size_is_sampled_once),
        cmocka_unit_test(full_curve_takes_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
