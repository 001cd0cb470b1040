/* tests/unit/worker/pipeline/schedule/stage_check_test.c - pipeline/schedule/validate.c */

#include <string.h>

#include "base/error.h"
#include "check.h"
#include "pipeline/schedule/schedule.h"
#include "pipeline/schedule/validate.h"

static struct hoop_schedule *
schedule_of(enum hoop_schedule_kind kind, uint32_t n_stages)
{
    const struct hoop_schedule_options options = {kind, n_stages, 3, 1};
    struct hoop_schedule *schedule = NULL;

    assert_int_equal(hoop_schedule_create(&options, &schedule), HOOP_OK);
    return schedule;
}

static size_t
index_of(const struct hoop_schedule *schedule,
         uint32_t stage,
         enum hoop_task_kind kind,
         uint32_t micro_batch)
{
    size_t i = schedule->firsts[stage];

    while (schedule->tasks[i].kind != kind ||
           schedule->tasks[i].micro_batch != micro_batch)
        i++;
    return i;
}

static void
assert_fault(const struct hoop_schedule *schedule,
             uint32_t stage,
             const char *text)
{
    uint32_t n_live;

    assert_int_equal(stage_check_run(schedule, stage, &n_live),
                     HOOP_E_INTERNAL);
    if (!strstr(error_text(), text))
        assert_string_equal(error_text(), text);
}

static void
stage_check_of_a_good_list_counts_what_is_kept(void **state)
{
    CLEANUP(hoop_schedule_free)
    struct hoop_schedule *schedule = schedule_of(HOOP_1F1B, 2);
    uint32_t n_live = 0;

    (void)state;
    assert_int_equal(stage_check_run(schedule, 0, &n_live), HOOP_OK);
    assert_int_equal(n_live, 2);
    assert_int_equal(stage_check_run(schedule, 1, &n_live), HOOP_OK);
    assert_int_equal(n_live, 1);
}

static void
stage_check_doubled_task_is_found(void **state)
{
    CLEANUP(hoop_schedule_free)
    struct hoop_schedule *schedule = schedule_of(HOOP_1F1B, 2);
    const size_t i = index_of(schedule, 0, HOOP_TASK_SEND_FORWARD, 1);

    (void)state;
    schedule->tasks[i].micro_batch = 0;
    assert_fault(schedule, 0,
                 "stage 0: send of the activations of micro-batch 0, chunk 0 "
                 "stands there twice");
}

static void
stage_check_missing_task_is_found(void **state)
{
    CLEANUP(hoop_schedule_free)
    struct hoop_schedule *schedule = schedule_of(HOOP_1F1B, 2);

    (void)state;
    /* the last stage's last task is a send */
    schedule->firsts[2]--;
    assert_fault(schedule, 1,
                 "stage 1: send of the gradients of micro-batch 2, chunk 0 is "
                 "missing");
}

static void
stage_check_task_before_its_needs_is_found(void **state)
{
    CLEANUP(hoop_schedule_free)
    struct hoop_schedule *schedule = schedule_of(HOOP_1F1B, 2);
    const size_t i = index_of(schedule, 1, HOOP_TASK_RECV_FORWARD, 0);
    const struct hoop_task task = schedule->tasks[i];

    (void)state;
    schedule->tasks[i] = schedule->tasks[i + 1];
    schedule->tasks[i + 1] = task;
    assert_fault(schedule, 1,
                 "forward of micro-batch 0, chunk 0 comes before what it "
                 "needs");
}

static void
stage_check_backward_before_its_forward_is_found(void **state)
{
    CLEANUP(hoop_schedule_free)
    struct hoop_schedule *schedule = schedule_of(HOOP_1F1B, 1);

    (void)state;
    assert_int_equal(schedule->tasks[1].kind, HOOP_TASK_BACKWARD);
    schedule->tasks[0].kind = HOOP_TASK_BACKWARD;
    assert_fault(schedule, 0,
                 "backward of micro-batch 0, chunk 0 comes before what it "
                 "needs");
}

static void
stage_check_of_strangers_is_found(void **state)
{
    CLEANUP(hoop_schedule_free)
    struct hoop_schedule *schedule = schedule_of(HOOP_GPIPE, 2);

    (void)state;
    schedule->tasks[0].kind = HOOP_TASK_RECV_FORWARD;
    assert_fault(schedule, 0, "is none of this stage's");
    schedule->tasks[0].kind = HOOP_TASK_FORWARD;
    schedule->tasks[0].chunk = 1;
    assert_fault(schedule, 0, "does not exist");
    schedule->tasks[0].chunk = 0;
    schedule->tasks[0].micro_batch = 3;
    assert_fault(schedule, 0, "does not exist");
}

static void
stage_check_micro_batches_out_of_order_are_found(void **state)
{
    CLEANUP(hoop_schedule_free)
    struct hoop_schedule *schedule = schedule_of(HOOP_GPIPE, 1);

    (void)state;
    schedule->tasks[0].micro_batch = 1;
    schedule->tasks[1].micro_batch = 0;
    assert_fault(schedule, 0, "comes out of the micro-batches' order");
}

static void
stage_check_more_kept_than_promised_is_found(void **state)
{
    CLEANUP(hoop_schedule_free)
    struct hoop_schedule *schedule = schedule_of(HOOP_GPIPE, 2);

    (void)state;
    schedule->options.kind = HOOP_1F1B;
    assert_fault(schedule, 1,
                 "stage 1 keeps the activations of 3 micro-batches and chunks "
                 "at a time; 1F1B promises 1");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stage_check_of_a_good_list_counts_what_is_kept),
        cmocka_unit_test(stage_check_doubled_task_is_found),
        cmocka_unit_test(stage_check_missing_task_is_found),
        cmocka_unit_test(stage_check_task_before_its_needs_is_found),
        cmocka_unit_test(stage_check_backward_before_its_forward_is_found),
        cmocka_unit_test(stage_check_of_strangers_is_found),
        cmocka_unit_test(stage_check_micro_batches_out_of_order_are_found),
        cmocka_unit_test(stage_check_more_kept_than_promised_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
