/* tests/unit/worker/pipeline/schedule/validate_test.c - pipeline/schedule/validate.c */

#include <math.h>
#include <string.h>

#include "check.h"
#include "pipeline/schedule/schedule.h"

static struct hoop_schedule *
schedule_of(const struct hoop_schedule_options *options)
{
    struct hoop_schedule *schedule = NULL;

    assert_int_equal(hoop_schedule_create(options, &schedule), HOOP_OK);
    return schedule;
}

static void
check_measures_makespan_bubble_and_memory(void **state)
{
    const struct hoop_schedule_options options = {HOOP_1F1B, 4, 8, 1};
    CLEANUP(hoop_schedule_free)
    struct hoop_schedule *schedule = schedule_of(&options);
    struct hoop_schedule_cost cost = {0};

    (void)state;
    assert_int_equal(hoop_schedule_check(schedule, &cost), HOOP_OK);
    assert_true(cost.forward == 1);
    assert_true(cost.backward == 2);
    assert_true(cost.makespan == 33);
    assert_true(fabs(cost.bubble - 3.0 / 11) < 1e-12);
    assert_int_equal(cost.n_live, 4);
}

static void
check_takes_the_times_it_is_given(void **state)
{
    const struct hoop_schedule_options options = {HOOP_GPIPE, 4, 8, 1};
    CLEANUP(hoop_schedule_free)
    struct hoop_schedule *schedule = schedule_of(&options);
    struct hoop_schedule_cost cost = {.forward = 3, .backward = 1};

    (void)state;
    assert_int_equal(hoop_schedule_check(schedule, &cost), HOOP_OK);
    assert_true(cost.makespan == 44);
    assert_int_equal(cost.n_live, 8);
}

static void
check_without_cost_proves_alone(void **state)
{
    const struct hoop_schedule_options options = {HOOP_INTERLEAVED, 3, 7, 2};
    CLEANUP(hoop_schedule_free)
    struct hoop_schedule *schedule = schedule_of(&options);

    (void)state;
    assert_int_equal(hoop_schedule_check(schedule, NULL), HOOP_OK);
    schedule->tasks[0].micro_batch = 1;
    assert_int_equal(hoop_schedule_check(schedule, NULL), HOOP_E_INTERNAL);
}

static void
check_wrong_arguments_are_refused(void **state)
{
    const struct hoop_schedule_options options = {HOOP_GPIPE, 1, 1, 1};
    CLEANUP(hoop_schedule_free)
    struct hoop_schedule *schedule = schedule_of(&options);
    struct hoop_schedule_cost negative = {.forward = -1};
    struct hoop_schedule_cost endless = {.backward = INFINITY};
    struct hoop_schedule_cost none = {.backward = NAN};

    (void)state;
    assert_int_equal(hoop_schedule_check(NULL, NULL), HOOP_E_INVALID);
    assert_int_equal(hoop_schedule_check(schedule, &negative), HOOP_E_INVALID);
    assert_int_equal(hoop_schedule_check(schedule, &endless), HOOP_E_INVALID);
    assert_int_equal(hoop_schedule_check(schedule, &none), HOOP_E_INVALID);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_measures_makespan_bubble_and_memory),
        cmocka_unit_test(check_takes_the_times_it_is_given),
        cmocka_unit_test(check_without_cost_proves_alone),
        cmocka_unit_test(check_wrong_arguments_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
