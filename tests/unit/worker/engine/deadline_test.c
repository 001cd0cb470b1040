/* tests/unit/worker/engine/deadline_test.c - engine/deadline.c */

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "couple_scene.h"

static struct comm_context *
short_context(uint32_t rank)
{
    struct comm_context *context = couple.sides[rank].comms[0].context;

    context_set_timeout(context, 60);
    return context;
}

static void
operation_without_a_connection_times_out_by_itself(void **state)
{
    const uint64_t begin_ns = clock_now_ns();
    int32_t value = 1;

    (void)state;
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

    (void)state;
    couple_connect(&couple);
    assert_int_equal(receive_start(short_context(0), bytes, 4, 1, &op),
                     HOOP_OK);
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

    (void)state;
    couple_connect(&couple);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(
            receive_start(short_context(0), bytes, 4, tags[i], &op), HOOP_OK);
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

    (void)state;
    couple_connect(&couple);
    assert_int_equal(engine_start_messages(short_context(0), &message, 1, &op),
                     HOOP_OK);
    assert_int_equal(engine_wait(op, patience()), HOOP_E_TIMEOUT);
    assert_non_null(strstr(error_text(), "a message from any rank"));
}

static void
deadline_of_the_wait_is_not_the_operations(void **state)
{
    struct comm_context *context = couple.sides[0].comms[0].context;
    char bytes[4];
    struct op *op = NULL;

    (void)state;
    couple_connect(&couple);
    /* On a busy machine the first wait may take its time, and the operation
     * must not end in it. */
    context_set_timeout(context, 600);
    assert_int_equal(receive_start(context, bytes, 4, 1, &op), HOOP_OK);
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

    (void)state;
    couple_connect(&couple);
    context_set_timeout(context, 30000);
    assert_int_equal(receive_start(context, bytes, 4, 1, &op), HOOP_OK);
    context_set_timeout(context, 1);
    assert_int_equal(engine_wait(op, clock_deadline_ns(40)), HOOP_E_PENDING);
    assert_int_equal(
        send_start(couple.sides[1].comms[0].context, "yes", 4, 1, &sent),
        HOOP_OK);
    assert_int_equal(engine_wait(sent, patience()), HOOP_OK);
    assert_int_equal(engine_wait(op, patience()), HOOP_OK);
    assert_string_equal(bytes, "yes");
}

/* Rank 0 gives up on rank 1, who never called: it learns so when it does. */
static void
timeout_here_is_a_verdict_there(void **state)
{
    int32_t value = 1;

    (void)state;
    couple_connect(&couple);
    couple_start_backgrounds(&couple);
    assert_int_equal(sum_run(short_context(0), &value, 1), HOOP_E_TIMEOUT);
    assert_int_equal(error_failure_details()->rank, 1);
    assert_int_equal(error_failure_details()->waited_for, 1);
    assert_true(error_failure_details()->elapsed_ms >=
                error_failure_details()->allowed_ms);
    assert_int_equal(sum_run(couple.sides[1].comms[0].context, &value, 1),
                     HOOP_E_TIMEOUT);
    assert_non_null(strstr(error_text(), "rank 0 (host:40) timed out"));
    assert_int_equal(error_failure_details()->rank, 1);
    assert_int_equal(error_failure_details()->allowed_ms, 30000);
    /* The context is not lost by it. */
    context_set_timeout(couple.sides[0].comms[0].context, 30000);
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
    (void)state;
    couple_connect(&couple);
    couple_run(&couple, side_late);
    couple_run(&couple, side_late);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_APART_TEST(operation_without_a_connection_times_out_by_itself),
        COUPLE_APART_TEST(receive_tells_whom_it_waited_for),
        COUPLE_APART_TEST(receive_tells_its_tag),
        COUPLE_APART_TEST(receive_from_any_tells_so),
        COUPLE_APART_TEST(deadline_of_the_wait_is_not_the_operations),
        COUPLE_APART_TEST(timeout_is_the_one_at_the_start),
        COUPLE_APART_TEST(timeout_here_is_a_verdict_there),
        COUPLE_APART_TEST(who_is_late_is_asked_and_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
