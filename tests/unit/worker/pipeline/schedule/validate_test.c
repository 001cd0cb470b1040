/* tests/unit/worker/pipeline/schedule/validate_test.c - pipeline/schedule/validate.c */

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "pipeline/schedule/schedule.h"
#include "pipeline/schedule/validate.h"

static struct hoop_schedule *
schedule_of(const struct hoop_schedule_options *options)
{
    struct hoop_schedule *schedule = NULL;

    assert_ok(hoop_schedule_create(options, &schedule));
    return schedule;
}

static void
check_measures_makespan_bubble_and_memory(void **state)
{
    const struct hoop_schedule_options options = {HOOP_1F1B, 4, 8, 1};
    CLEANUP(hoop_schedule_free)
    struct hoop_schedule *schedule = schedule_of(&options);
    struct hoop_schedule_cost cost = {0};

    assert_ok(hoop_schedule_check(schedule, &cost));
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

    assert_ok(hoop_schedule_check(schedule, &cost));
    assert_true(cost.makespan == 44);
    assert_int_equal(cost.n_live, 8);
}

static void
check_without_cost_proves_alone(void **state)
{
    const struct hoop_schedule_options options = {HOOP_INTERLEAVED, 3, 7, 2};
    CLEANUP(hoop_schedule_free)
    struct hoop_schedule *schedule = schedule_of(&options);

    assert_ok(hoop_schedule_check(schedule, NULL));
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

    assert_int_equal(hoop_schedule_check(NULL, NULL), HOOP_E_INVALID);
    assert_int_equal(hoop_schedule_check(schedule, &negative), HOOP_E_INVALID);
    assert_int_equal(hoop_schedule_check(schedule, &endless), HOOP_E_INVALID);
    assert_int_equal(hoop_schedule_check(schedule, &none), HOOP_E_INVALID);
}

/* Lists of two stages, written out. */
static enum hoop_status
deadlock_check_of(const struct hoop_task *first,
                  size_t n_first,
                  const struct hoop_task *second,
                  size_t n_second)
{
    struct hoop_task tasks[16];
    size_t firsts[3] = {0, n_first, n_first + n_second};
    struct hoop_schedule schedule = {
        .options = {HOOP_1F1B, 2, 2, 1},
        .firsts = firsts,
        .tasks = tasks,
    };

    assert_true(firsts[2] <= COUNT_OF(tasks));
    memcpy(tasks, first, n_first * sizeof(*tasks));
    memcpy(tasks + n_first, second, n_second * sizeof(*tasks));
    return deadlock_check_run(&schedule);
}

static void
deadlock_check_of_one_order_succeeds(void **state)
{
    const struct hoop_task first[] = {
        {HOOP_TASK_FORWARD, 0, 0},
        {HOOP_TASK_SEND_FORWARD, 0, 0},
        {HOOP_TASK_RECV_BACKWARD, 0, 0},
    };
    const struct hoop_task second[] = {
        {HOOP_TASK_RECV_FORWARD, 0, 0},
        {HOOP_TASK_SEND_BACKWARD, 0, 0},
    };

    assert_ok(deadlock_check_of(first, 3, second, 2));
}

static void
deadlock_of_two_that_both_send_is_found(void **state)
{
    const struct hoop_task first[] = {
        {HOOP_TASK_SEND_FORWARD, 1, 0},
        {HOOP_TASK_RECV_BACKWARD, 0, 0},
    };
    const struct hoop_task second[] = {
        {HOOP_TASK_SEND_BACKWARD, 0, 0},
        {HOOP_TASK_RECV_FORWARD, 1, 0},
    };

    assert_int_equal(deadlock_check_of(first, 2, second, 2), HOOP_E_INTERNAL);
    assert_string_equal(
        error_text(),
        "stage 0 waits for ever at its send of the activations of micro-batch "
        "1, chunk 0, for stage 1, which is at send of the gradients of "
        "micro-batch 0, chunk 0");
}

static void
deadlock_out_of_order_is_found(void **state)
{
    const struct hoop_task first[] = {
        {HOOP_TASK_SEND_FORWARD, 0, 0},
        {HOOP_TASK_SEND_FORWARD, 1, 0},
    };
    const struct hoop_task second[] = {
        {HOOP_TASK_RECV_FORWARD, 1, 0},
        {HOOP_TASK_RECV_FORWARD, 0, 0},
    };

    assert_int_equal(deadlock_check_of(first, 2, second, 2), HOOP_E_INTERNAL);
}

static void
deadlock_of_a_missing_partner_is_found(void **state)
{
    const struct hoop_task second[] = {{HOOP_TASK_RECV_FORWARD, 0, 0}};

    assert_int_equal(deadlock_check_of(second, 0, second, 1), HOOP_E_INTERNAL);
    assert_non_null(strstr(error_text(), "which is at the end of its list"));
}

static struct hoop_schedule *
stage_check_schedule_of(enum hoop_schedule_kind kind, uint32_t n_stages)
{
    const struct hoop_schedule_options options = {kind, n_stages, 3, 1};
    struct hoop_schedule *schedule = NULL;

    assert_ok(hoop_schedule_create(&options, &schedule));
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
    struct hoop_schedule *schedule = stage_check_schedule_of(HOOP_1F1B, 2);
    uint32_t n_live = 0;

    assert_ok(stage_check_run(schedule, 0, &n_live));
    assert_int_equal(n_live, 2);
    assert_ok(stage_check_run(schedule, 1, &n_live));
    assert_int_equal(n_live, 1);
}

static void
stage_check_doubled_task_is_found(void **state)
{
    CLEANUP(hoop_schedule_free)
    struct hoop_schedule *schedule = stage_check_schedule_of(HOOP_1F1B, 2);
    const size_t i = index_of(schedule, 0, HOOP_TASK_SEND_FORWARD, 1);

    schedule->tasks[i].micro_batch = 0;
    assert_fault(schedule, 0,
                 "stage 0: send of the activations of micro-batch 0, chunk 0 "
                 "stands there twice");
}

static void
stage_check_missing_task_is_found(void **state)
{
    CLEANUP(hoop_schedule_free)
    struct hoop_schedule *schedule = stage_check_schedule_of(HOOP_1F1B, 2);

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
    struct hoop_schedule *schedule = stage_check_schedule_of(HOOP_1F1B, 2);
    const size_t i = index_of(schedule, 1, HOOP_TASK_RECV_FORWARD, 0);
    const struct hoop_task task = schedule->tasks[i];

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
    struct hoop_schedule *schedule = stage_check_schedule_of(HOOP_1F1B, 1);

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
    struct hoop_schedule *schedule = stage_check_schedule_of(HOOP_GPIPE, 2);

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
    struct hoop_schedule *schedule = stage_check_schedule_of(HOOP_GPIPE, 1);

    schedule->tasks[0].micro_batch = 1;
    schedule->tasks[1].micro_batch = 0;
    assert_fault(schedule, 0, "comes out of the micro-batches' order");
}

static void
stage_check_more_kept_than_promised_is_found(void **state)
{
    CLEANUP(hoop_schedule_free)
    struct hoop_schedule *schedule = stage_check_schedule_of(HOOP_GPIPE, 2);

    schedule->options.kind = HOOP_1F1B;
    assert_fault(schedule, 1,
                 "stage 1 keeps the activations of 3 micro-batches and chunks "
                 "at a time; 1F1B promises 1");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_measures_makespan_bubble_and_memory),
        cmocka_unit_test(check_takes_the_times_it_is_given),
        cmocka_unit_test(check_without_cost_proves_alone),
        cmocka_unit_test(check_wrong_arguments_are_refused),
        cmocka_unit_test(deadlock_check_of_one_order_succeeds),
        cmocka_unit_test(deadlock_of_two_that_both_send_is_found),
        cmocka_unit_test(deadlock_out_of_order_is_found),
        cmocka_unit_test(deadlock_of_a_missing_partner_is_found),
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
