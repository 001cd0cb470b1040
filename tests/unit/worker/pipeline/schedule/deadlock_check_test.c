/* tests/unit/worker/pipeline/schedule/deadlock_check_test.c - pipeline/schedule/validate.c */

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "pipeline/schedule/schedule.h"
#include "pipeline/schedule/validate.h"

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

    (void)state;
    assert_int_equal(deadlock_check_of(first, 3, second, 2), HOOP_OK);
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

    (void)state;
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

    (void)state;
    assert_int_equal(deadlock_check_of(first, 2, second, 2), HOOP_E_INTERNAL);
}

static void
deadlock_of_a_missing_partner_is_found(void **state)
{
    const struct hoop_task second[] = {{HOOP_TASK_RECV_FORWARD, 0, 0}};

    (void)state;
    assert_int_equal(deadlock_check_of(second, 0, second, 1), HOOP_E_INTERNAL);
    assert_non_null(strstr(error_text(), "which is at the end of its list"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deadlock_check_of_one_order_succeeds),
        cmocka_unit_test(deadlock_of_two_that_both_send_is_found),
        cmocka_unit_test(deadlock_out_of_order_is_found),
        cmocka_unit_test(deadlock_of_a_missing_partner_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
