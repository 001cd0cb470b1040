/* tests/unit/worker/engine/cancel_test.c - engine/command_queue.c */

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/limits.h"
#include "check.h"
#include "couple.h"

enum {
    LARGE = 2 * LIMIT_EAGER_WHOLE, /* bytes: not sent without a grant */
};

static struct couple couple;
static uint8_t large[2][LARGE];

static int
couple_set_up(void **state)
{
    (void)state;
    couple_open(&couple);
    couple_connect(&couple);
    return 0;
}

static int
couple_tear_down(void **state)
{
    (void)state;
    couple_close(&couple);
    return 0;
}

static enum hoop_status
cancel(struct op *op)
{
    engine_cancel_op(op);
    return engine_wait(op, patience());
}

/* Rank 0 gives up its receive; what comes later is for the next. */
static int
side_receive(struct side *side)
{
    struct comm_context *context = side->comms[0].context;
    int32_t value = 1;
    uint8_t byte = 7;
    struct op *op = NULL;

    if (side->rank == 0) {
        SIDE_CHECK(receive_start(context, large[0], LARGE, 1, &op) == HOOP_OK);
        SIDE_CHECK(cancel(op) == HOOP_E_CANCELLED);
        SIDE_CHECK(strstr(error_text(), "given up"));
        SIDE_CHECK(sum_run(context, &value, 1) == HOOP_OK);
        byte = 0;
        SIDE_CHECK(receive_start(context, &byte, 1, 1, &op) == HOOP_OK);
        SIDE_CHECK(engine_wait(op, patience()) == HOOP_OK);
        SIDE_CHECK(byte == 7);
        return 0;
    }
    SIDE_CHECK(sum_run(context, &value, 1) == HOOP_OK);
    SIDE_CHECK(send_start(context, &byte, 1, 1, &op) == HOOP_OK);
    SIDE_CHECK(engine_wait(op, patience()) == HOOP_OK);
    return 0;
}

static void
cancelled_receive_takes_nothing(void **state)
{
    (void)state;
    couple_run(&couple, side_receive);
}

/* Rank 0 gives up a send that is announced; the next one is received. */
static int
side_send(struct side *side)
{
    struct comm_context *context = side->comms[0].context;
    int32_t value = (int32_t)side->rank;
    uint8_t byte = 9;
    struct op *op = NULL;

    if (side->rank == 0) {
        SIDE_CHECK(send_start(context, large[0], LARGE, 1, &op) == HOOP_OK);
        SIDE_CHECK(sum_run(context, &value, 1) == HOOP_OK);
        SIDE_CHECK(cancel(op) == HOOP_E_CANCELLED);
        SIDE_CHECK(send_start(context, &byte, 1, 1, &op) == HOOP_OK);
        SIDE_CHECK(engine_wait(op, patience()) == HOOP_OK);
        SIDE_CHECK(sum_run(context, &value, 1) == HOOP_OK);
        return 0;
    }
    SIDE_CHECK(sum_run(context, &value, 1) == HOOP_OK);
    SIDE_CHECK(sum_run(context, &value, 1) == HOOP_OK);
    byte = 0;
    SIDE_CHECK(receive_start(context, &byte, 1, 1, &op) == HOOP_OK);
    SIDE_CHECK(engine_wait(op, patience()) == HOOP_OK);
    SIDE_CHECK(byte == 9);
    return 0;
}

static void
cancelled_send_is_not_received(void **state)
{
    (void)state;
    couple_run(&couple, side_send);
}

/* The first time it is asked it lets the call go on. */
static bool
is_second(void *context)
{
    int *n_asked = context;

    return ++*n_asked == 2;
}

/* Rank 0's sum is interrupted before rank 1 calls it; then both go on. */
static int
side_interrupt(struct side *side)
{
    struct comm_context *context = side->comms[0].context;
    int32_t value = 1;
    uint8_t byte = 5;
    int n_asked = 0;
    struct op *op = NULL;

    if (side->rank == 0) {
        interrupt_set(is_second, &n_asked);
        SIDE_CHECK(sum_run(context, &value, 1) == HOOP_E_CANCELLED);
        SIDE_CHECK(n_asked == 2);
        interrupt_set(NULL, NULL);
        SIDE_CHECK(send_start(context, &byte, 1, 1, &op) == HOOP_OK);
        SIDE_CHECK(engine_wait(op, patience()) == HOOP_OK);
    } else {
        SIDE_CHECK(receive_start(context, &byte, 1, 1, &op) == HOOP_OK);
        SIDE_CHECK(engine_wait(op, patience()) == HOOP_OK);
        SIDE_CHECK(sum_run(context, &value, 1) == HOOP_E_ABORTED);
        SIDE_CHECK(strstr(error_text(), "it was given up by rank 0 ("));
    }
    value = 1;
    SIDE_CHECK(sum_run(context, &value, 1) == HOOP_OK);
    SIDE_CHECK(value == 2);
    return 0;
}

static void
interrupted_call_ends_on_all_ranks(void **state)
{
    (void)state;
    couple_run(&couple, side_interrupt);
}

/* Who says how long to wait is not asked. */
static void
wait_with_a_timeout_is_not_interrupted(void **state)
{
    struct comm_context *context = couple.sides[0].comms[0].context;
    int n_asked = 1;
    struct op *op = NULL;

    (void)state;
    assert_int_equal(receive_start(context, large[0], 1, 1, &op), HOOP_OK);
    interrupt_set(is_second, &n_asked);
    assert_int_equal(engine_wait(op, clock_deadline_ns(120)), HOOP_E_PENDING);
    interrupt_set(NULL, NULL);
    assert_int_equal(n_asked, 1);
    assert_int_equal(cancel(op), HOOP_E_CANCELLED);
}

/* It has ended as it has. */
static void
what_has_ended_is_not_cancelled(void **state)
{
    struct comm_context *context = couple.sides[0].alone.context;
    int32_t value = 3;
    struct op *op = NULL;

    (void)state;
    assert_int_equal(sum_start(context, &value, 1, &op), HOOP_OK);
    assert_int_equal(cancel(op), HOOP_OK);
    assert_int_equal(cancel(engine_null_op()), HOOP_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cancelled_receive_takes_nothing,
                                        couple_set_up, couple_tear_down),
        cmocka_unit_test_setup_teardown(cancelled_send_is_not_received,
                                        couple_set_up, couple_tear_down),
        cmocka_unit_test_setup_teardown(interrupted_call_ends_on_all_ranks,
                                        couple_set_up, couple_tear_down),
        cmocka_unit_test_setup_teardown(wait_with_a_timeout_is_not_interrupted,
                                        couple_set_up, couple_tear_down),
        cmocka_unit_test_setup_teardown(what_has_ended_is_not_cancelled,
                                        couple_set_up, couple_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
