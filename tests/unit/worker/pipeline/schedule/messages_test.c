/* tests/unit/worker/pipeline/schedule/messages_test.c - pipeline/schedule/messages.c */

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "pipeline/schedule/messages.h"
#include "pipeline/schedule/schedule.h"

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

    assert_int_equal(schedule_create_compute_only(options, &computed), HOOP_OK);
    assert_int_equal(timetable_init(&timetable, computed, &TIMETABLE_UNITS),
                     HOOP_OK);
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

    (void)state;
    stage_is(&options, 0, "F0.0 >0.0 [0.0 B0.0");
    stage_is(&options, 1, "]0.0 F0.0 >0.0 [0.0 B0.0 <0.0");
    stage_is(&options, 2, "]0.0 F0.0 B0.0 <0.0");
}

static void
messages_of_last_and_first_stage_wrap_to_the_next_chunk(void **state)
{
    const struct hoop_schedule_options options = {HOOP_INTERLEAVED, 2, 1, 2};

    (void)state;
    stage_is(&options, 0, "F0.0 >0.0 ]0.1 F0.1 >0.1 [0.1 B0.1 <0.1 [0.0 B0.0");
    stage_is(&options, 1, "]0.0 F0.0 >0.0 ]0.1 F0.1 B0.1 <0.1 [0.0 B0.0 <0.0");
}

static void
messages_come_when_they_are_made_not_when_they_are_wanted(void **state)
{
    const struct hoop_schedule_options options = {HOOP_1F1B, 2, 3, 1};

    (void)state;
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

    (void)state;
    stage_is(&options, 0, "F0.0 F0.1 F0.2 B0.2 B0.1 B0.0");
}

static void
messages_n_tasks_counts_both_sides(void **state)
{
    const struct hoop_schedule_options options = {HOOP_INTERLEAVED, 3, 5, 2};

    (void)state;
    assert_int_equal(messages_count_tasks(&options), (6 + 6 + 4 * 5) * 5);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_a_middle_stage_go_both_ways),
        cmocka_unit_test(
            messages_of_last_and_first_stage_wrap_to_the_next_chunk),
        cmocka_unit_test(
            messages_come_when_they_are_made_not_when_they_are_wanted),
        cmocka_unit_test(messages_of_a_stage_alone_are_none),
        cmocka_unit_test(messages_n_tasks_counts_both_sides),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
