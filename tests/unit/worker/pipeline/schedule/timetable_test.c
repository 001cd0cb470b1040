/* tests/unit/worker/pipeline/schedule/timetable_test.c - pipeline/schedule/timetable.c */

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "check.h"
#include "pipeline/schedule/messages.h"
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

    assert_ok(schedule_create_compute_only(&two_by_two, &schedule));
    assert_ok(timetable_init(&timetable, schedule, &TIMETABLE_DEFAULT_UNITS));
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

    assert_ok(schedule_create_compute_only(&two_by_two, &schedule));
    assert_ok(timetable_init(&timetable, schedule, &units));
    assert_true(timetable.makespan == 2.25);
    timetable_deinit(&timetable);
}

static void
timetable_of_stages_that_wait_for_each_other_is_refused(void **state)
{
    CLEANUP(hoop_schedule_free) struct hoop_schedule *schedule = NULL;
    struct timetable timetable;

    assert_ok(schedule_create_compute_only(&two_by_two, &schedule));
    /* stage 0 wants a gradient before it has sent what that comes of */
    const struct hoop_task first = schedule->tasks[0];
    schedule->tasks[0] = schedule->tasks[2];
    schedule->tasks[2] = first;
    assert_int_equal(
        timetable_init(&timetable, schedule, &TIMETABLE_DEFAULT_UNITS),
        HOOP_E_INTERNAL);
    assert_non_null(
        strstr(error_text(),
               "stage 0 waits for ever with its backward of micro-batch 0"));
}

enum {
    TEXT_MAX = 600
};

/* "F0 >0 B0": > sends activations, ] receives them, < sends gradients, [
 * receives them. */
static void
stage_is(const struct hoop_schedule_options *options,
         uint32_t stage,
         const char *expected)
{
    static const char marks[] = "FB>]<[";
    CLEANUP(hoop_schedule_free) struct hoop_schedule *computed = NULL;
    struct timetable timetable;
    struct hoop_task tasks[64];
    char text[TEXT_MAX] = "";
    size_t at = 0;

    assert_ok(schedule_create_compute_only(options, &computed));
    assert_ok(timetable_init(&timetable, computed, &TIMETABLE_DEFAULT_UNITS));
    const size_t n = messages_merge_stage_tasks(&timetable, stage, tasks);
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, TEXT_MAX - at, "%s%c%u.%u",
                               i > 0 ? " " : "", marks[tasks[i].kind],
                               tasks[i].micro_batch, tasks[i].chunk);
    timetable_deinit(&timetable);
    assert_string_equal(text, expected);
}

static void
messages_of_a_middle_stage_go_both_ways(void **state)
{
    const struct hoop_schedule_options options = {HOOP_1F1B, 3, 1, 1};

    stage_is(&options, 0, "F0.0 >0.0 [0.0 B0.0");
    stage_is(&options, 1, "]0.0 F0.0 >0.0 [0.0 B0.0 <0.0");
    stage_is(&options, 2, "]0.0 F0.0 B0.0 <0.0");
}

static void
messages_of_last_and_first_stage_wrap_to_the_next_chunk(void **state)
{
    const struct hoop_schedule_options options = {HOOP_INTERLEAVED, 2, 1, 2};

    stage_is(&options, 0, "F0.0 >0.0 ]0.1 F0.1 >0.1 [0.1 B0.1 <0.1 [0.0 B0.0");
    stage_is(&options, 1, "]0.0 F0.0 >0.0 ]0.1 F0.1 B0.1 <0.1 [0.0 B0.0 <0.0");
}

static void
messages_come_when_they_are_made_not_when_they_are_wanted(void **state)
{
    const struct hoop_schedule_options options = {HOOP_1F1B, 2, 3, 1};

    /* activations of 1 are there before the backward of 0 begins */
    stage_is(&options, 1,
             "]0.0 F0.0 ]1.0 B0.0 <0.0 F1.0 B1.0 ]2.0 <1.0 F2.0 B2.0 <2.0");
    stage_is(&options, 0,
             "F0.0 >0.0 F1.0 >1.0 [0.0 B0.0 F2.0 >2.0 [1.0 B1.0 [2.0 B2.0");
}

static void
messages_of_a_stage_alone_are_none(void **state)
{
    const struct hoop_schedule_options options = {HOOP_INTERLEAVED, 1, 1, 3};

    stage_is(&options, 0, "F0.0 F0.1 F0.2 B0.2 B0.1 B0.0");
}

static void
messages_n_tasks_counts_both_sides(void **state)
{
    const struct hoop_schedule_options options = {HOOP_INTERLEAVED, 3, 5, 2};

    assert_int_equal(messages_count_tasks(&options), (6 + 6 + 4 * 5) * 5);
}

static void
create_hands_out_options_and_lists(void **state)
{
    const struct hoop_schedule_options options = {HOOP_1F1B, 3, 2, 1};
    CLEANUP(hoop_schedule_free) hoop_schedule_t *schedule = NULL;
    size_t n_tasks = 0;

    assert_ok(hoop_schedule_create(&options, &schedule));
    assert_int_equal(hoop_schedule_shape(schedule)->n_stages, 3);
    assert_int_equal(hoop_schedule_shape(schedule)->n_micro_batches, 2);
    const struct hoop_task *first = hoop_schedule_tasks(schedule, 0, &n_tasks);
    assert_int_equal(n_tasks, 8);
    assert_int_equal(first->kind, HOOP_TASK_FORWARD);
    const struct hoop_task *middle = hoop_schedule_tasks(schedule, 1, &n_tasks);
    assert_int_equal(n_tasks, 12);
    assert_int_equal(middle->kind, HOOP_TASK_RECV_FORWARD);
    assert_non_null(hoop_schedule_tasks(schedule, 2, NULL));
    n_tasks = 77;
    assert_null(hoop_schedule_tasks(schedule, 3, &n_tasks));
    assert_int_equal(n_tasks, 77);
}

static void
ask_of_nothing_is_null(void **state)
{
    size_t n_tasks;

    assert_null(hoop_schedule_shape(NULL));
    assert_null(hoop_schedule_tasks(NULL, 0, &n_tasks));
    hoop_schedule_free(NULL);
}

static void
create_wrong_options_are_refused(void **state)
{
    const struct {
        struct hoop_schedule_options options;
        const char *text;
    } rows[] = {
        {{(enum hoop_schedule_kind)3, 1, 1, 1}, "kind 3"},
        {{HOOP_GPIPE, 0, 1, 1}, "one of each at least"},
        {{HOOP_GPIPE, 1, 0, 1}, "one of each at least"},
        {{HOOP_INTERLEAVED, 1, 1, 0}, "one of each at least"},
        {{HOOP_GPIPE, 2, 2, 2}, "2 chunks, but GPipe has one"},
        {{HOOP_1F1B, 2, 2, 3}, "several are for HOOP_INTERLEAVED"},
        {{HOOP_1F1B, UINT32_MAX, UINT32_MAX, 1}, "more than 16777216 tasks"},
        {{HOOP_1F1B, 1, LIMIT_SCHEDULE_TASKS, 1}, "more than 16777216 tasks"},
        {{HOOP_INTERLEAVED, 65536, 65536, 65536}, "more than 16777216 tasks"},
        {{HOOP_1F1B, 4096, 1024, 1}, "more than 16777216 tasks"},
    };
    hoop_schedule_t *schedule = NULL;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(hoop_schedule_create(&rows[i].options, &schedule),
                         HOOP_E_INVALID);
        assert_non_null(strstr(error_text(), rows[i].text));
    }
    assert_int_equal(hoop_schedule_create(NULL, &schedule), HOOP_E_INVALID);
    assert_int_equal(hoop_schedule_create(&rows[0].options, NULL),
                     HOOP_E_INVALID);
    assert_null(schedule);
}

static void
task_describe_names_kind_micro_batch_and_chunk(void **state)
{
    const struct hoop_task task = {HOOP_TASK_RECV_BACKWARD, 3, 1};
    const struct hoop_task strange = {(enum hoop_task_kind)9, 3, 1};
    char text[TASK_TEXT_MAX];

    assert_string_equal(task_describe(&task, text),
                        "receive of the gradients of micro-batch 3, chunk 1");
    assert_string_equal(task_describe(&strange, text),
                        "unknown task of micro-batch 3, chunk 1");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timetable_of_two_stages_is_known),
        cmocka_unit_test(timetable_takes_the_units_it_is_given),
        cmocka_unit_test(
            timetable_of_stages_that_wait_for_each_other_is_refused),
        cmocka_unit_test(messages_of_a_middle_stage_go_both_ways),
        cmocka_unit_test(
            messages_of_last_and_first_stage_wrap_to_the_next_chunk),
        cmocka_unit_test(
            messages_come_when_they_are_made_not_when_they_are_wanted),
        cmocka_unit_test(messages_of_a_stage_alone_are_none),
        cmocka_unit_test(messages_n_tasks_counts_both_sides),
        cmocka_unit_test(create_hands_out_options_and_lists),
        cmocka_unit_test(ask_of_nothing_is_null),
        cmocka_unit_test(create_wrong_options_are_refused),
        cmocka_unit_test(task_describe_names_kind_micro_batch_and_chunk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
