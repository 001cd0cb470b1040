/* tests/unit/worker/engine/failure/failure_notice_test.c - engine/failure/failure_notice.c */

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "unit/worker/engine/engine_pair_fixture.h"

static int
mismatch_names_both_calls_on_both_sides(struct side *side)
{
    int32_t values[20] = {0};
    struct comm_context *context = side->comms[0].context;

    SIDE_CHECK(sum_run(context, values, 10 + side->rank) == HOOP_E_MISMATCH);
    SIDE_CHECK(strstr(error_text(), "allreduce #1 (int32, 10 elements, sum)"));
    SIDE_CHECK(strstr(error_text(), "allreduce #1 (int32, 11 elements, sum)"));
    SIDE_CHECK(strstr(error_text(), "rank 0 (host:40)"));
    SIDE_CHECK(strstr(error_text(), "rank 1 (host:41)"));

    const struct hoop_failure *failure = error_failure_details();
    SIDE_CHECK(failure->status == HOOP_E_MISMATCH);
    SIDE_CHECK(failure->rank < 2 && failure->pid == 40 + failure->rank);
    SIDE_CHECK(strcmp(failure->host, "host") == 0);
    SIDE_CHECK(strcmp(failure->operation, "allreduce") == 0);
    SIDE_CHECK(failure->sequence == 1);
    SIDE_CHECK(failure->n_bytes == 4 * (10 + side->rank));
    return 0;
}

static int
mismatch_on_one_context_spares_the_others(struct side *side)
{
    int32_t values[20] = {0};
    const int line = mismatch_names_both_calls_on_both_sides(side);

    SIDE_CHECK(line == 0);
    values[0] = 7;
    SIDE_CHECK(sum_run(side->comms[1].context, values, 20) == HOOP_OK);
    SIDE_CHECK(values[0] == 14);
    return 0;
}

/* Rank 0 has a receive of 3 bytes, rank 1 sends 4. */
static int
message_that_does_not_fit_fails_its_receive(struct side *side)
{
    char bytes[4] = "abc";
    struct comm_context *context = side->comms[0].context;
    struct op *op = NULL;

    if (side->rank == 0) {
        SIDE_CHECK(receive_start(context, bytes, 3, 1, &op) == HOOP_OK);
        SIDE_CHECK(engine_wait(op, patience()) == HOOP_E_MISMATCH);
        SIDE_CHECK(memcmp(bytes, "abc", 4) == 0);
        SIDE_CHECK(strstr(error_text(), "recv"));
        SIDE_CHECK(strstr(error_text(), "send"));
        return 0;
    }
    SIDE_CHECK(send_start(context, "long", 4, 1, &op) == HOOP_OK);
    const enum hoop_status status = engine_wait(op, patience());
    SIDE_CHECK(status == HOOP_OK || status == HOOP_E_MISMATCH);
    return 0;
}

static void
connection_that_ends_fails_what_waits_for_it(void **state)
{
    char bytes[4];
    struct op *message = NULL;
    struct op *sum = NULL;
    int32_t value = 1;

    engine_pair_open(&engine_pair);
    engine_add_connection(engine_pair.sides[0].engine, 1, engine_pair.fds[0]);
    engine_pair.fds[0] = -1;
    context_set_name(engine_pair.sides[0].comms[1].context, "second");
    assert_ok(receive_start(engine_pair.sides[0].comms[0].context, bytes, 4, 1,
                            &message));
    assert_ok(
        sum_start(engine_pair.sides[0].comms[1].context, &value, 1, &sum));
    close(engine_pair.fds[1]);
    engine_pair.fds[1] = -1;
    assert_int_equal(engine_wait(message, patience()), HOOP_E_PEER_LOST);
    assert_non_null(strstr(error_text(), "rank 1 (host:41) is lost"));
    const struct hoop_failure *failure = error_failure_details();
    assert_int_equal(failure->rank, 1);
    assert_int_equal(failure->pid, 41);
    assert_int_equal(failure->waited_for, 1);
    assert_string_equal(failure->operation, "recv");
    assert_int_equal(failure->n_bytes, 4);
    assert_true(failure->allowed_ms >= failure->elapsed_ms);
    assert_int_equal(engine_wait(sum, patience()), HOOP_E_PEER_LOST);
    assert_int_equal(failure->waited_for, 1);
    assert_string_equal(failure->operation, "allreduce");
    assert_string_equal(failure->communicator, "second");
    assert_int_equal(failure->sequence, 1);
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_lost), 1);
    engine_pair_close(&engine_pair);
}

static void
rank_that_is_lost_itself_accuses_nobody(void **state)
{
    struct side *side = &engine_pair.sides[1];
    int32_t value = 1;

    engine_pair_open(&engine_pair);
    engine_declare_dead(side->engine, 1, "frozen");
    engine_declare_dead(side->engine, 0, "connection reset");
    assert_int_equal(sum_run(side->comms[0].context, &value, 1),
                     HOOP_E_PEER_LOST);
    assert_non_null(strstr(error_text(), "this rank was declared lost by the "
                                         "coordinator (frozen, at "));
    assert_int_equal(atomic_load(&side->n_lost), 1);
    engine_pair_close(&engine_pair);
}

/* By another thread, which drives meanwhile. */
struct wait {
    pthread_t thread;
    struct op *op;
    enum hoop_status status;
    char text[LIMIT_ERROR_TEXT];
};

static void *
wait_run(void *argument)
{
    struct wait *wait = argument;

    wait->status = engine_wait(wait->op, patience());
    snprintf(wait->text, sizeof(wait->text), "%s", error_text());
    return NULL;
}

static void
rank_that_gives_up_says_why(void **state)
{
    struct side *sides = engine_pair.sides;
    struct op *others = NULL;
    struct wait own = {0};
    int32_t value = 1;

    assert_ok(sum_start(sides[0].comms[0].context, &value, 1, &others));
    assert_ok(sum_start(sides[1].comms[1].context, &value, 1, &own.op));
    assert_int_equal(pthread_create(&own.thread, NULL, wait_run, &own), 0);
    assert_true(engine_give_up(sides[1].engine, "raised ValueError: x"));
    assert_false(engine_give_up(sides[1].engine, "raised it again"));

    assert_int_equal(engine_wait(others, patience()), HOOP_E_RANK_FAILED);
    assert_non_null(
        strstr(error_text(), ": rank 1 (host:41) raised ValueError: x;"));
    assert_int_equal(error_failure_details()->rank, 1);
    assert_int_equal(error_failure_details()->pid, 41);
    assert_int_equal(sides[0].evidence, EVIDENCE_GIVEN_UP);
    assert_string_equal(sides[0].why, "raised ValueError: x");
    /* Called later, and of another communicator, that failed elsewhere. */
    assert_int_equal(sum_run(sides[0].comms[1].context, &value, 1),
                     HOOP_E_RANK_FAILED);
    assert_non_null(
        strstr(error_text(), ": rank 1 (host:41) raised ValueError: x;"));

    pthread_join(own.thread, NULL);
    assert_int_equal(own.status, HOOP_E_RANK_FAILED);
    assert_non_null(strstr(own.text, ": this rank raised ValueError: x; "));
    assert_int_equal(engine_check_not_expelled(sides[1].engine),
                     HOOP_E_RANK_FAILED);
    assert_string_equal(error_text(), "this rank raised ValueError: x");
}

/* As the coordinator tells it. */
static void
rank_that_has_given_up_is_told_of(void **state)
{
    struct side *side = &engine_pair.sides[0];
    int32_t value = 1;

    engine_pair_open(&engine_pair);
    engine_report_given_up(side->engine, 1, "raised ValueError: x");
    engine_declare_dead(side->engine, 1, "frozen");
    assert_int_equal(sum_run(side->comms[0].context, &value, 1),
                     HOOP_E_RANK_FAILED);
    assert_non_null(
        strstr(error_text(), ": rank 1 (host:41) raised ValueError: x;"));
    engine_pair_close(&engine_pair);
}

/* Who was cut off, and given up, may come back and say the same of others. */
static void
rank_that_is_lost_is_not_believed(void **state)
{
    struct side *sides = engine_pair.sides;

    engine_pair_open(&engine_pair);
    engine_pair_connect(&engine_pair);
    engine_declare_dead(sides[0].engine, 1, "frozen");
    engine_progress_background(sides[0].engine);
    assert_int_equal(atomic_load(&sides[0].n_lost), 1);
    /* It has not looked yet at what it is told. */
    engine_declare_dead(sides[1].engine, 2, "frozen");
    engine_declare_dead(sides[1].engine, 0, "frozen");
    engine_progress_background(sides[1].engine);
    assert_int_equal(atomic_load(&sides[1].n_lost), 2);
    for (unsigned i = 0; i < 10; i++)
        engine_progress_background(sides[0].engine);
    assert_int_equal(atomic_load(&sides[0].n_lost), 1);
    engine_pair_close(&engine_pair);
}

static void
what_was_sent_before_the_end_is_still_received(void **state)
{
    char bytes[8] = "";
    struct op *op = NULL;

    assert_ok(
        send_start(engine_pair.sides[1].comms[0].context, "last", 4, 1, &op));
    assert_ok(engine_wait(op, patience()));
    engine_shutdown(engine_pair.sides[1].engine, 0);
    assert_ok(
        receive_start(engine_pair.sides[0].comms[0].context, bytes, 7, 1, &op));
    assert_ok(engine_wait(op, patience()));
    assert_string_equal(bytes, "last");

    /* There will be no second. */
    assert_ok(
        receive_start(engine_pair.sides[0].comms[0].context, bytes, 7, 1, &op));
    assert_int_equal(engine_wait(op, patience()), HOOP_E_PEER_LOST);
    assert_non_null(strstr(error_text(), "rank 1 (host:41) has left the job"));
    assert_int_equal(error_failure_details()->rank, 1);
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_lost), 0);
}

static void
collective_with_one_that_left_fails_at_once(void **state)
{
    const uint64_t begin_ns = clock_now_ns();
    int32_t value = 1;
    struct op *op = NULL;

    assert_ok(sum_start(engine_pair.sides[0].comms[0].context, &value, 1, &op));
    engine_shutdown(engine_pair.sides[1].engine, 0);
    assert_int_equal(engine_wait(op, patience()), HOOP_E_PEER_LOST);
    assert_non_null(strstr(error_text(), "has left the job"));
    assert_int_equal(sum_run(engine_pair.sides[0].comms[1].context, &value, 1),
                     HOOP_E_PEER_LOST);
    assert_true(clock_now_ns() - begin_ns < 10 * CLOCK_NS_PER_S);
}

/* Told of before there was a connection, and by who is leaving already. */
static void
rank_that_leaves_says_who_was_lost(void **state)
{
    int32_t value = 1;
    struct op *op = NULL;

    engine_pair_open(&engine_pair);
    engine_declare_dead(engine_pair.sides[1].engine, 2, "killed by signal 9");
    engine_progress_background(engine_pair.sides[1].engine);
    assert_ok(sum_start(engine_pair.sides[0].comms[0].context, &value, 1, &op));
    engine_pair_connect(&engine_pair);
    engine_shutdown(engine_pair.sides[1].engine, 0);
    assert_int_equal(engine_wait(op, patience()), HOOP_E_PEER_LOST);
    assert_non_null(strstr(error_text(),
                           "rank 1 (host:41) has left the job; before that "
                           "rank 2 (far:42) was lost: killed by signal 9"));
    engine_pair_close(&engine_pair);
}

/* Who else is in the job is no matter to a rank that is alone. */
static void
rank_alone_hears_itself_when_others_have_left(void **state)
{
    struct comm_context *alone = engine_pair.sides[0].alone.context;
    char bytes[4] = "abc";
    char copy[4] = "";
    int32_t value = 1;
    struct op *op = NULL;
    const struct engine_message pair[] = {
        {.call = {.name = CALL_SEND, .dtype = HOOP_UINT8, .count = 3},
         .bytes = bytes},
        {.call = {.name = CALL_RECV, .dtype = HOOP_UINT8, .count = 3},
         .peer = HOOP_ANY_SOURCE,
         .bytes = copy},
    };

    engine_shutdown(engine_pair.sides[1].engine, 0);
    assert_int_equal(sum_run(engine_pair.sides[0].comms[0].context, &value, 1),
                     HOOP_E_PEER_LOST);
    assert_ok(engine_start_message_pair(alone, pair, &op));
    assert_ok(engine_wait(op, patience()));
    assert_string_equal(copy, "abc");
}

/* A failure notice is on its way when the operation has ended: the backgrounds
 * drive on. */
int
main(void)
{
    const struct CMUnitTest tests[] = {
        SIDES_BACKGROUND_TEST(mismatch_names_both_calls_on_both_sides),
        SIDES_BACKGROUND_TEST(mismatch_on_one_context_spares_the_others),
        SIDES_BACKGROUND_TEST(message_that_does_not_fit_fails_its_receive),
        cmocka_unit_test(connection_that_ends_fails_what_waits_for_it),
        ENGINE_PAIR_BACKGROUND_TEST(
            what_was_sent_before_the_end_is_still_received),
        ENGINE_PAIR_BACKGROUND_TEST(
            collective_with_one_that_left_fails_at_once),
        cmocka_unit_test(rank_that_leaves_says_who_was_lost),
        cmocka_unit_test(rank_that_is_lost_itself_accuses_nobody),
        ENGINE_PAIR_BACKGROUND_TEST(rank_that_gives_up_says_why),
        cmocka_unit_test(rank_that_has_given_up_is_told_of),
        cmocka_unit_test(rank_that_is_lost_is_not_believed),
        ENGINE_PAIR_BACKGROUND_TEST(
            rank_alone_hears_itself_when_others_have_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
