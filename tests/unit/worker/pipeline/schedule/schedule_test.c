/* tests/unit/worker/pipeline/schedule/schedule_test.c - pipeline/schedule/schedule.c */

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "check.h"
#include "pipeline/schedule/schedule.h"

static void
create_hands_out_options_and_lists(void **state)
{
    const struct hoop_schedule_options options = {HOOP_1F1B, 3, 2, 1};
    CLEANUP(hoop_schedule_free) hoop_schedule_t *schedule = NULL;
    size_t n_tasks = 0;

    (void)state;
    assert_int_equal(hoop_schedule_create(&options, &schedule), HOOP_OK);
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

    (void)state;
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

    (void)state;
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

    (void)state;
    assert_string_equal(task_describe(&task, text),
                        "receive of the gradients of micro-batch 3, chunk 1");
    assert_string_equal(task_describe(&strange, text),
                        "unknown task of micro-batch 3, chunk 1");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(create_hands_out_options_and_lists),
        cmocka_unit_test(ask_of_nothing_is_null),
        cmocka_unit_test(create_wrong_options_are_refused),
        cmocka_unit_test(task_describe_names_kind_micro_batch_and_chunk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
