/* tests/unit/worker/engine/cancel_test.c - engine/command_queue.c */

#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/limits.h"
#include "check.h"
#include "engine/op.h"
#include "engine_pair.h"
#include "engine_pair_fixture.h"

enum {
    LARGE = 2 * LIMIT_EAGER_WHOLE_MESSAGE, /* bytes: not sent without a grant */
};

static uint8_t large[2][LARGE];

static enum hoop_status
cancel(struct op *op)
{
    engine_cancel_op(op);
    return engine_wait(op, patience());
}

/* Rank 0 gives up its receive; what comes later is for the next. */
static int
cancelled_receive_takes_nothing(struct side *side)
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

/* Rank 0 gives up a send that is announced; the next one is received. */
static int
cancelled_send_is_not_received(struct side *side)
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

/* The first time it is asked it lets the call go on. */
static bool
is_second(void *context)
{
    int *n_asked = context;

    return ++*n_asked == 2;
}

/* Rank 0's sum is interrupted before rank 1 calls it; then both go on. */
static int
interrupted_call_ends_on_all_ranks(struct side *side)
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

/* Who says how long to wait is not asked. */
static void
wait_with_a_timeout_is_not_interrupted(void **state)
{
    struct comm_context *context = engine_pair.sides[0].comms[0].context;
    int n_asked = 1;
    struct op *op = NULL;

    assert_ok(receive_start(context, large[0], 1, 1, &op));
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
    struct comm_context *context = engine_pair.sides[0].alone.context;
    int32_t value = 3;
    struct op *op = NULL;

    assert_ok(sum_start(context, &value, 1, &op));
    assert_ok(cancel(op));
    assert_ok(cancel(engine_null_op()));
}

static struct comm_context *
short_context(uint32_t rank)
{
    struct comm_context *context = engine_pair.sides[rank].comms[0].context;

    context_set_timeout(context, 60);
    return context;
}

static void
operation_without_a_connection_times_out_by_itself(void **state)
{
    const uint64_t begin_ns = clock_now_ns();
    int32_t value = 1;

    assert_int_equal(sum_run(short_context(0), &value, 1), HOOP_E_TIMEOUT);
    assert_true(clock_now_ns() - begin_ns >= 60 * CLOCK_NS_PER_MS);
    assert_non_null(strstr(error_text(), "allreduce #1 (int32, 1 elements"));
    assert_non_null(strstr(error_text(), "rank 0 (host:40) timed out after"));
    assert_non_null(strstr(error_text(), "waiting for rank 1 (host:41)"));
    assert_non_null(strstr(error_text(), "not connected"));
}

static void
receive_tells_whom_it_waited_for(void **state)
{
    char bytes[4];
    struct op *op = NULL;

    engine_pair_connect(&engine_pair);
    assert_ok(receive_start(short_context(0), bytes, 4, 1, &op));
    assert_int_equal(engine_wait(op, patience()), HOOP_E_TIMEOUT);
    assert_non_null(
        strstr(error_text(), "waiting for rank 1 (host:41) to send (0 of 4"));
}

/* A program's; the library's are no help to anybody. */
static void
receive_tells_its_tag(void **state)
{
    static const uint64_t tags[] = {(uint64_t)1 << 62, (uint64_t)3 << 62};
    char bytes[4];
    struct op *op = NULL;

    engine_pair_connect(&engine_pair);
    for (unsigned i = 0; i < 2; i++) {
        assert_ok(receive_start(short_context(0), bytes, 4, tags[i], &op));
        assert_int_equal(engine_wait(op, patience()), HOOP_E_TIMEOUT);
        assert_int_equal(strstr(error_text(), "tag") != NULL, i == 0);
    }
}

static void
receive_from_any_tells_so(void **state)
{
    char bytes[4];
    struct op *op = NULL;
    const struct engine_message message = {
        .call = {.name = CALL_RECV, .dtype = HOOP_UINT8, .count = 4},
        .peer = HOOP_ANY_SOURCE,
        .bytes = bytes,
    };

    engine_pair_connect(&engine_pair);
    assert_ok(engine_start_messages(short_context(0), &message, 1, &op));
    assert_int_equal(engine_wait(op, patience()), HOOP_E_TIMEOUT);
    assert_non_null(strstr(error_text(), "a message from any rank"));
}

static void
deadline_of_the_wait_is_not_the_operations(void **state)
{
    struct comm_context *context = engine_pair.sides[0].comms[0].context;
    char bytes[4];
    struct op *op = NULL;

    engine_pair_connect(&engine_pair);
    /* On a busy machine the first wait may take its time, and the operation
     * must not end in it. */
    context_set_timeout(context, 600);
    assert_ok(receive_start(context, bytes, 4, 1, &op));
    assert_int_equal(engine_wait(op, clock_deadline_ns(1)), HOOP_E_PENDING);
    assert_int_equal(engine_wait(op, CLOCK_NEVER), HOOP_E_TIMEOUT);
}

static void
timeout_is_the_one_at_the_start(void **state)
{
    struct comm_context *context = short_context(0);
    char bytes[4] = "";
    struct op *op = NULL;
    struct op *sent = NULL;

    engine_pair_connect(&engine_pair);
    context_set_timeout(context, 30000);
    assert_ok(receive_start(context, bytes, 4, 1, &op));
    context_set_timeout(context, 1);
    assert_int_equal(engine_wait(op, clock_deadline_ns(40)), HOOP_E_PENDING);
    assert_ok(
        send_start(engine_pair.sides[1].comms[0].context, "yes", 4, 1, &sent));
    assert_ok(engine_wait(sent, patience()));
    assert_ok(engine_wait(op, patience()));
    assert_string_equal(bytes, "yes");
}

/* Rank 0 gives up on rank 1, who never called: it learns so when it does. */
static void
timeout_here_is_a_verdict_there(void **state)
{
    int32_t value = 1;

    engine_pair_connect(&engine_pair);
    engine_pair_start_backgrounds(&engine_pair);
    assert_int_equal(sum_run(short_context(0), &value, 1), HOOP_E_TIMEOUT);
    assert_int_equal(error_failure_details()->rank, 1);
    assert_int_equal(error_failure_details()->waited_for, 1);
    assert_true(error_failure_details()->elapsed_ms >=
                error_failure_details()->allowed_ms);
    assert_int_equal(sum_run(engine_pair.sides[1].comms[0].context, &value, 1),
                     HOOP_E_TIMEOUT);
    assert_non_null(strstr(error_text(), "rank 0 (host:40) timed out"));
    assert_int_equal(error_failure_details()->rank, 1);
    assert_int_equal(error_failure_details()->allowed_ms, 30000);
    /* The context is not lost by it. */
    context_set_timeout(engine_pair.sides[0].comms[0].context, 30000);
}

static int
side_late(struct side *side)
{
    const struct timespec pause = {.tv_nsec = 250000000};
    int32_t values[40000];

    for (int32_t i = 0; i < 40000; i++)
        values[i] = i;
    /* Long enough for the other one to ask what is called here. */
    if (side->rank == 1)
        nanosleep(&pause, NULL);
    SIDE_CHECK(sum_run(side->comms[0].context, values, 40000) == HOOP_OK);
    SIDE_CHECK(values[39999] == 2 * 39999);
    return 0;
}

static void
who_is_late_is_asked_and_waited_for(void **state)
{
    engine_pair_connect(&engine_pair);
    engine_pair_run(&engine_pair, side_late);
    engine_pair_run(&engine_pair, side_late);
}

/* Without a call that would move anything. */
static void
await_done(const struct op *op)
{
    const uint64_t until_ns = patience();

    while (!atomic_load(&op->run.is_done) && !clock_is_past(until_ns))
        sched_yield();
    assert_true(atomic_load(&op->run.is_done));
}

static void
operations_end_while_nobody_waits(void **state)
{
    enum {
        COUNT = 300000
    };
    static int32_t values[2][COUNT];
    struct op *ops[2] = {NULL, NULL};

    for (uint32_t rank = 0; rank < 2; rank++) {
        for (int32_t i = 0; i < COUNT; i++)
            values[rank][i] = i;
        assert_ok(sum_start(engine_pair.sides[rank].comms[0].context,
                            values[rank], COUNT, &ops[rank]));
    }
    await_done(ops[0]);
    await_done(ops[1]);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_ok(engine_wait(ops[rank], 0));
        for (int32_t i = 0; i < COUNT; i++)
            assert_int_equal(values[rank][i], 2 * i);
    }
}

static void
deadline_passes_while_nobody_waits(void **state)
{
    struct comm_context *context = engine_pair.sides[0].comms[0].context;
    char bytes[4];
    struct op *op = NULL;

    context_set_timeout(context, 30);
    assert_ok(receive_start(context, bytes, 4, 1, &op));
    await_done(op);
    assert_int_equal(engine_wait(op, 0), HOOP_E_TIMEOUT);
}

static void
dead_peer_is_noticed_between_operations(void **state)
{
    const uint64_t until_ns = patience();

    assert_ok(engine_connect(engine_pair.sides[0].engine, 1, patience()));
    engine_report_unreachable(engine_pair.sides[1].engine, 0, "not asked for");
    engine_declare_dead(engine_pair.sides[1].engine, 0, "for the test");
    while (atomic_load(&engine_pair.sides[1].n_lost) == 0 &&
           !clock_is_past(until_ns))
        sched_yield();
    assert_int_equal(atomic_load(&engine_pair.sides[1].n_lost), 1);
}

static int
callers_and_background_take_turns(struct side *side)
{
    int32_t value;

    /* A caller, then the background, then a caller. */
    for (unsigned i = 0; i < 50; i++) {
        struct op *op = NULL;

        value = 1;
        SIDE_CHECK(sum_run(side->comms[1].context, &value, 1) == HOOP_OK);
        SIDE_CHECK(value == 2);
        SIDE_CHECK(sum_start(side->comms[1].context, &value, 1, &op) ==
                   HOOP_OK);
        const uint64_t until_ns = patience();
        while (!atomic_load(&op->run.is_done) && !clock_is_past(until_ns))
            sched_yield();
        SIDE_CHECK(engine_wait(op, 0) == HOOP_OK);
        SIDE_CHECK(value == 4);
    }
    return 0;
}

static void
destroy_of_none_is_fine(void **state)
{
    background_progress_destroy(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SIDES_TEST(cancelled_receive_takes_nothing),
        SIDES_TEST(cancelled_send_is_not_received),
        SIDES_TEST(interrupted_call_ends_on_all_ranks),
        ENGINE_PAIR_TEST(wait_with_a_timeout_is_not_interrupted),
        ENGINE_PAIR_TEST(what_has_ended_is_not_cancelled),
        ENGINE_PAIR_UNCONNECTED_TEST(
            operation_without_a_connection_times_out_by_itself),
        ENGINE_PAIR_UNCONNECTED_TEST(receive_tells_whom_it_waited_for),
        ENGINE_PAIR_UNCONNECTED_TEST(receive_tells_its_tag),
        ENGINE_PAIR_UNCONNECTED_TEST(receive_from_any_tells_so),
        ENGINE_PAIR_UNCONNECTED_TEST(
            deadline_of_the_wait_is_not_the_operations),
        ENGINE_PAIR_UNCONNECTED_TEST(timeout_is_the_one_at_the_start),
        ENGINE_PAIR_UNCONNECTED_TEST(timeout_here_is_a_verdict_there),
        ENGINE_PAIR_UNCONNECTED_TEST(who_is_late_is_asked_and_waited_for),
        ENGINE_PAIR_BACKGROUND_TEST(operations_end_while_nobody_waits),
        ENGINE_PAIR_BACKGROUND_TEST(deadline_passes_while_nobody_waits),
        ENGINE_PAIR_BACKGROUND_TEST(dead_peer_is_noticed_between_operations),
        SIDES_BACKGROUND_TEST(callers_and_background_take_turns),
        cmocka_unit_test(destroy_of_none_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
