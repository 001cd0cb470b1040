/* tests/unit/tools/hoop-perf/timing_test.c - hoop-perf/timing.c */

#include "check.h"
#include "hoop-perf/timing.h"

static void
timing_one_iteration_is_every_percentile(void **state)
{
    double times[] = {3};
    const struct timing timing = timing_of(times, 1, 3);

    (void)state;
    assert_true(timing.mean_us == 3);
    assert_true(timing.p50_us == 3);
    assert_true(timing.p99_us == 3);
}

static void
timing_percentiles_are_times_that_occurred(void **state)
{
    double times[200];

    (void)state;
    for (size_t i = 0; i < 200; i++)
        times[i] = (double)(200 - i);
    const struct timing timing = timing_of(times, 200, 40000);
    assert_true(timing.mean_us == 200);
    assert_true(timing.p50_us == 100);
    assert_true(timing.p99_us == 198);
}

static void
timing_few_iterations_have_the_worst_as_p99(void **state)
{
    double times[] = {5, 1, 9};
    const struct timing timing = timing_of(times, 3, 15);

    (void)state;
    assert_true(timing.p50_us == 5);
    assert_true(timing.p99_us == 9);
}

static void
timing_clock_does_not_go_back(void **state)
{
    const double before_us = timing_now_us();

    (void)state;
    assert_true(timing_now_us() >= before_us);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timing_one_iteration_is_every_percentile),
        cmocka_unit_test(timing_percentiles_are_times_that_occurred),
        cmocka_unit_test(timing_few_iterations_have_the_worst_as_p99),
        cmocka_unit_test(timing_clock_does_not_go_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
