/* tests/unit/worker/pipeline/schedule/pattern_test.c - pipeline/schedule/pattern.c */

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "pipeline/schedule/pattern.h"

enum {
    TEXT_MAX = 400
};

/* "F0 F1 B0 B1", or "F0.1" for chunk 1. */
static const char *
list_text(const struct hoop_schedule_options *options,
          uint32_t stage,
          char text[TEXT_MAX])
{
    struct hoop_task tasks[64];
    const uint32_t n = 2 * pattern_n_forwards(options);
    size_t at = 0;

    assert_true(n <= COUNT_OF(tasks));
    pattern_list_tasks(options, stage, tasks);
    for (uint32_t i = 0; i < n; i++) {
        char chunk[16] = "";

        if (options->n_chunks > 1)
            snprintf(chunk, sizeof(chunk), ".%u", tasks[i].chunk);
        at += (size_t)snprintf(text + at, TEXT_MAX - at, "%s%c%u%s",
                               i > 0 ? " " : "",
                               tasks[i].kind == HOOP_TASK_FORWARD ? 'F' : 'B',
                               tasks[i].micro_batch, chunk);
    }
    return text;
}

static void
gpipe_goes_all_forward_then_all_backward(void **state)
{
    const struct hoop_schedule_options options = {HOOP_GPIPE, 2, 3, 1};
    char text[TEXT_MAX];

    assert_string_equal(list_text(&options, 0, text), "F0 F1 F2 B0 B1 B2");
    assert_string_equal(list_text(&options, 1, text), "F0 F1 F2 B0 B1 B2");
    assert_int_equal(pattern_n_live_activations(&options, 0), 3);
}

static void
one_f_one_b_warms_up_by_stages_behind(void **state)
{
    const struct hoop_schedule_options options = {HOOP_1F1B, 3, 4, 1};
    char text[TEXT_MAX];

    assert_string_equal(list_text(&options, 0, text),
                        "F0 F1 F2 B0 F3 B1 B2 B3");
    assert_string_equal(list_text(&options, 1, text),
                        "F0 F1 B0 F2 B1 F3 B2 B3");
    assert_string_equal(list_text(&options, 2, text),
                        "F0 B0 F1 B1 F2 B2 F3 B3");
    assert_int_equal(pattern_n_live_activations(&options, 0), 3);
    assert_int_equal(pattern_n_live_activations(&options, 1), 2);
    assert_int_equal(pattern_n_live_activations(&options, 2), 1);
}

static void
one_f_one_b_with_few_micro_batches_keeps_no_more_than_there_are(void **state)
{
    const struct hoop_schedule_options options = {HOOP_1F1B, 8, 2, 1};
    char text[TEXT_MAX];

    assert_string_equal(list_text(&options, 0, text), "F0 F1 B0 B1");
    assert_int_equal(pattern_n_live_activations(&options, 0), 2);
}

static void
interleaved_takes_groups_through_all_chunks(void **state)
{
    const struct hoop_schedule_options options = {HOOP_INTERLEAVED, 2, 4, 2};
    char text[TEXT_MAX];

    assert_string_equal(list_text(&options, 0, text),
                        "F0.0 F1.0 F0.1 F1.1 F2.0 B0.1 F3.0 B1.1 F2.1 B0.0 "
                        "F3.1 B1.0 B2.1 B3.1 B2.0 B3.0");
    assert_string_equal(list_text(&options, 1, text),
                        "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 F3.0 B1.0 "
                        "F2.1 B2.1 F3.1 B3.1 B2.0 B3.0");
    assert_int_equal(pattern_n_live_activations(&options, 0), 5);
    assert_int_equal(pattern_n_live_activations(&options, 1), 3);
}

/* 5 micro-batches of 2 stages: a group of 3 and one of 2. */
static void
interleaved_left_over_micro_batch_makes_first_group_larger(void **state)
{
    const struct hoop_schedule_options options = {HOOP_INTERLEAVED, 2, 5, 2};
    char text[TEXT_MAX];

    assert_string_equal(list_text(&options, 1, text),
                        "F0.0 F1.0 F2.0 F0.1 B0.1 F1.1 B1.1 F2.1 B2.1 F3.0 "
                        "B0.0 F4.0 B1.0 F3.1 B2.0 F4.1 B3.1 B4.1 B3.0 B4.0");
}

static void
interleaved_fewer_micro_batches_than_stages_are_one_group(void **state)
{
    const struct hoop_schedule_options options = {HOOP_INTERLEAVED, 4, 1, 2};
    char text[TEXT_MAX];

    assert_string_equal(list_text(&options, 3, text), "F0.0 F0.1 B0.1 B0.0");
}

static void
pattern_of_no_kind_is_null(void **state)
{
    assert_null(pattern_find((enum hoop_schedule_kind)7));
    assert_string_equal(pattern_find(HOOP_1F1B)->name, "1F1B");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpipe_goes_all_forward_then_all_backward),
        cmocka_unit_test(one_f_one_b_warms_up_by_stages_behind),
        cmocka_unit_test(
            one_f_one_b_with_few_micro_batches_keeps_no_more_than_there_are),
        cmocka_unit_test(interleaved_takes_groups_through_all_chunks),
        cmocka_unit_test(
            interleaved_left_over_micro_batch_makes_first_group_larger),
        cmocka_unit_test(
            interleaved_fewer_micro_batches_than_stages_are_one_group),
        cmocka_unit_test(pattern_of_no_kind_is_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
