/* tests/unit/worker/pipeline/schedule/timetable_test.c - pipeline/schedule/timetable.c */

#include <string.h>

#include "base/error.h"
#include "check.h"
#include "pipeline/schedule/schedule.h"
#include "pipeline/schedule/timetable.h"

static const struct hoop_schedule_options two_by_two = {HOOP_1F1B, 2, 2, 1};

static void
timetable_of_two_stages_is_known(void **state)
{
    /* stage 0: F0 F1 .. B0 B0 . B1 B1; stage 1: . F0 B0 B0 F1 B1 B1 */
    static const double ends[2][4] = {{1, 2, 6, 9}, {2, 4, 5, 7}};
    CLEANUP(hoop_schedule_free) struct hoop_schedule *schedule = NULL;
    struct timetable timetable;

    (void)state;
    assert_int_equal(schedule_create_compute_only(&two_by_two, &schedule),
                     HOOP_OK);
    assert_int_equal(timetable_init(&timetable, schedule, &TIMETABLE_UNITS),
                     HOOP_OK);
    assert_true(timetable.makespan == 9);
    for (uint32_t stage = 0; stage < 2; stage++) {
        for (size_t i = 0; i < 4; i++) {
            const struct hoop_task *task =
                &schedule->tasks[schedule->firsts[stage] + i];
            const double units = task->kind == HOOP_TASK_FORWARD ? 1 : 2;
            const double end = ends[stage][i];

            assert_true(timetable_task_end(&timetable, stage, task) == end);
            assert_true(timetable_task_begin(&timetable, stage, task) ==
                        end - units);
        }
    }
    timetable_deinit(&timetable);
}

static void
timetable_takes_the_units_it_is_given(void **state)
{
    const struct timetable_units units = {0.5, 0.25};
    CLEANUP(hoop_schedule_free) struct hoop_schedule *schedule = NULL;
    struct timetable timetable;

    (void)state;
    assert_int_equal(schedule_create_compute_only(&two_by_two, &schedule),
                     HOOP_OK);
    assert_int_equal(timetable_init(&timetable, schedule, &units), HOOP_OK);
    assert_true(timetable.makespan == 2.25);
    timetable_deinit(&timetable);
}

static void
timetable_of_stages_that_wait_for_each_other_is_refused(void **state)
{
    CLEANUP(hoop_schedule_free) struct hoop_schedule *schedule = NULL;
    struct timetable timetable;

    (void)state;
    assert_int_equal(schedule_create_compute_only(&two_by_two, &schedule),
                     HOOP_OK);
    /* stage 0 wants a gradient before it has sent what that comes of */
    const struct hoop_task first = schedule->tasks[0];
    schedule->tasks[0] = schedule->tasks[2];
    schedule->tasks[2] = first;
    assert_int_equal(timetable_init(&timetable, schedule, &TIMETABLE_UNITS),
                     HOOP_E_INTERNAL);
    assert_non_null(
        strstr(error_text(),
               "stage 0 waits for ever with its backward of micro-batch 0"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timetable_of_two_stages_is_known),
        cmocka_unit_test(timetable_takes_the_units_it_is_given),
        cmocka_unit_test(
            timetable_of_stages_that_wait_for_each_other_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
