/*
 * tests/unit/worker/engine/inline_message_test.c - engine/inline.c
 *
 * Whichever way a message goes, it is the same one: so each side goes either
 * way in turns, and the turns differ.
 */

#include <string.h>

#include "base/limits.h"
#include "engine/progress.h"
#include "engine/state.h"
#include "engine_pair_fixture.h"

enum {
    N_TURNS = 600,
    TAG = 5,
};

static struct engine_message
message_of(struct comm_context *context,
           enum call_name name,
           int32_t *values,
           size_t count)
{
    return (struct engine_message){
        .call = {.name = name,
                 .dtype = HOOP_INT32,
                 .root = 1 - context_rank(context),
                 .count = count},
        .tag = TAG,
        .peer = 1 - context_rank(context),
        .bytes = values,
        .mode = ENGINE_START_AND_WAIT,
    };
}

static enum hoop_status
send_run(struct comm_context *context, int32_t *values, size_t count)
{
    const struct engine_message message =
        message_of(context, CALL_SEND, values, count);

    return engine_run_message(context, &message);
}

static enum hoop_status
receive_run(struct comm_context *context, int32_t *values, size_t count)
{
    const struct engine_message message =
        message_of(context, CALL_RECV, values, count);

    return engine_run_message(context, &message);
}

/* An operation like any other. */
static enum hoop_status
ordinary_run(struct comm_context *context,
             enum call_name name,
             int32_t *values,
             size_t count)
{
    const struct engine_message message =
        message_of(context, name, values, count);
    struct op *op = NULL;
    const enum hoop_status status =
        engine_start_messages(context, &message, 1, &op);

    return status == HOOP_OK ? engine_wait(op, patience()) : status;
}

/* No operation was ever made. */
static bool
has_made_none(const struct side *side)
{
    return !atomic_load(&side->engine->pool.kept);
}

static uint64_t
n_ended(const struct side *side)
{
    struct engine_stats stats;

    engine_stats(side->engine, &stats);
    return stats.operations;
}

static void
message_needs_no_operation(void **state)
{
    struct side *sides = engine_pair.sides;
    int32_t sent[2] = {7, 8};
    int32_t got[4] = {0};
    struct hoop_received received = {0};
    struct engine_message message =
        message_of(sides[1].comms[0].context, CALL_RECV, got, 4);

    message.received = &received;
    /* Each takes what the other one's connection is, first. */
    progress_poll(sides[0].engine, 0);
    progress_poll(sides[1].engine, 0);
    const bool is_in_memory =
        transport_can_receive_inline(sides[1].engine->transport, 0);
    assert_ok(send_run(sides[0].comms[0].context, sent, 2));
    assert_ok(engine_run_message(sides[1].comms[0].context, &message));
    assert_int_equal(got[0], 7);
    assert_int_equal(got[1], 8);
    assert_int_equal(got[2], 0);
    assert_int_equal(received.count, 2);
    assert_int_equal(received.source, 0);
    assert_true(has_made_none(&sides[0]));
    /* Only in memory is it looked for. */
    assert_int_equal(has_made_none(&sides[1]), is_in_memory);
    assert_int_equal(n_ended(&sides[0]), 1);
    assert_int_equal(n_ended(&sides[1]), 1);
    assert_false(sides[0].engine->is_progress_owned);
    assert_false(sides[1].engine->is_progress_owned);
}

static int
either_side_goes_either_way(struct side *side)
{
    struct comm_context *context = side->comms[2].context;

    for (int32_t i = 0; i < N_TURNS; i++) {
        const bool is_short = i / (side->rank == 0 ? 3 : 5) % 2 == 0;
        const bool serves = side->rank == (uint32_t)i % 2;
        int32_t ball[2] = {serves ? i : -1, serves ? i + 1 : -1};
        const enum call_name name = serves ? CALL_SEND : CALL_RECV;
        enum hoop_status status;

        if (!is_short)
            status = ordinary_run(context, name, ball, 2);
        else if (serves)
            status = send_run(context, ball, 2);
        else
            status = receive_run(context, ball, 2);
        SIDE_CHECK(status == HOOP_OK);
        SIDE_CHECK(ball[0] == i && ball[1] == i + 1);
    }
    return 0;
}

/* Behind it another, of another tag, which an ordinary one has asked for. */
static int
messages_of_other_tags_are_kept_apart(struct side *side)
{
    struct comm_context *context = side->comms[1].context;
    char bytes[4] = "";
    int32_t value = -1;
    struct op *op = NULL;

    if (side->rank == 1) {
        for (int32_t i = 0; i < N_TURNS; i++) {
            SIDE_CHECK(send_start(context, "abc", 4, TAG + 1, &op) == HOOP_OK);
            SIDE_CHECK(send_run(context, &i, 1) == HOOP_OK);
            SIDE_CHECK(engine_wait(op, patience()) == HOOP_OK);
        }
        return 0;
    }
    for (int32_t i = 0; i < N_TURNS; i++) {
        if (i % 2 == 0)
            SIDE_CHECK(receive_start(context, bytes, 4, TAG + 1, &op) ==
                       HOOP_OK);
        SIDE_CHECK(receive_run(context, &value, 1) == HOOP_OK);
        SIDE_CHECK(value == i);
        if (i % 2 == 1)
            SIDE_CHECK(receive_start(context, bytes, 4, TAG + 1, &op) ==
                       HOOP_OK);
        SIDE_CHECK(engine_wait(op, patience()) == HOOP_OK);
        SIDE_CHECK(strcmp(bytes, "abc") == 0);
    }
    return 0;
}

/* Sends go before anybody receives: as many as the window lets go, then one
 * after the other. */
static int
stream_of_messages_keeps_its_order(struct side *side)
{
    struct comm_context *context = side->comms[3].context;
    static const size_t COUNT = 4000;
    int32_t values[4000];

    for (int32_t i = 0; i < N_TURNS; i++) {
        for (size_t k = 0; k < COUNT; k++)
            values[k] = side->rank == 0 ? i + (int32_t)k : -1;
        if (side->rank == 0) {
            SIDE_CHECK(send_run(context, values, COUNT) == HOOP_OK);
            continue;
        }
        SIDE_CHECK(receive_run(context, values, COUNT) == HOOP_OK);
        for (size_t k = 0; k < COUNT; k++)
            SIDE_CHECK(values[k] == i + (int32_t)k);
    }
    return 0;
}

/* More than a socket takes, but not than the window lets go: nobody waits for
 * what is left, so somebody is told of it. */
static void
rest_of_a_message_is_left_to_the_background(void **state)
{
    enum {
        COUNT = LIMIT_EAGER_MESSAGE / sizeof(int32_t),
        MESSAGES = LIMIT_EAGER_WINDOW / LIMIT_EAGER_MESSAGE - 1,
    };
    struct side *sides = engine_pair.sides;
    static int32_t values[COUNT];
    int32_t n_sent = 0;

    progress_poll(sides[0].engine, 0);
    const unsigned n_before = atomic_load(&sides[0].n_abandoned);
    while (n_sent < MESSAGES &&
           atomic_load(&sides[0].n_abandoned) == n_before) {
        for (size_t i = 0; i < COUNT; i++)
            values[i] = n_sent + (int32_t)i;
        assert_ok(send_run(sides[0].comms[0].context, values, COUNT));
        n_sent++;
    }
    /* A large ring has room for all that the window lets go. */
    const bool has_rest = atomic_load(&sides[0].n_abandoned) > n_before;
    memset(values, 0xff, sizeof(values));
    assert_true(has_rest || n_sent == MESSAGES);
    assert_true(has_made_none(&sides[0]));
    /* Somebody who has driven meanwhile leaves it once more. */
    assert_ok(sum_run(sides[0].alone.context, values, 1));
    assert_int_equal(atomic_load(&sides[0].n_abandoned),
                     n_before + (has_rest ? 2 : 0));
    engine_pair_start_backgrounds(&engine_pair);
    for (int32_t k = 0; k < n_sent; k++) {
        assert_ok(receive_run(sides[1].comms[0].context, values, COUNT));
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(values[i], k + (int32_t)i);
    }
}

static int
engine_pair_set_up_coding(void **state)
{
    struct config config = engine_pair_config();
    config.codec = CODEC_ZSTD;
    engine_pair_open_with(&engine_pair,
                          &(struct engine_options){.config = &config});
    engine_pair_connect(&engine_pair);
    return 0;
}

/* Whoever asks to be told how it was coded, it is nobody's. */
static void
message_is_coded_as_any_other(void **state)
{
    enum {
        COUNT = 8192,
    };
    struct side *sides = engine_pair.sides;
    static int32_t sent[COUNT];
    static int32_t got[COUNT];
    struct engine_stats stats;

    for (size_t i = 0; i < COUNT; i++)
        sent[i] = (int32_t)(i / 100);
    progress_poll(sides[0].engine, 0);
    assert_ok(send_run(sides[0].comms[0].context, sent, COUNT));
    assert_true(has_made_none(&sides[0]));
    engine_stats(sides[0].engine, &stats);
    assert_in_range(stats.transport.wire_sent, 1, sizeof(sent) / 2);
    assert_ok(receive_run(sides[1].comms[0].context, got, COUNT));
    assert_memory_equal(got, sent, sizeof(sent));
}

static void
message_that_does_not_fit_is_refused(void **state)
{
    struct side *sides = engine_pair.sides;
    int32_t sent[2] = {7, 8};
    int32_t got[2] = {0};

    assert_ok(send_run(sides[0].comms[0].context, sent, 2));
    assert_int_equal(receive_run(sides[1].comms[0].context, got, 1),
                     HOOP_E_MISMATCH);
    assert_int_equal(got[0], 0);
    /* The next is another one. */
    assert_ok(send_run(sides[0].comms[0].context, sent, 2));
    assert_ok(receive_run(sides[1].comms[0].context, got, 2));
    assert_int_equal(got[1], 8);
}

static void
nobody_there_is_an_error_as_ever(void **state)
{
    struct comm_context *context = engine_pair.sides[0].comms[0].context;
    int32_t value = 1;

    progress_poll(engine_pair.sides[0].engine, 0);
    engine_report_unreachable(engine_pair.sides[0].engine, 1,
                              "connection reset");
    assert_int_equal(send_run(context, &value, 1), HOOP_E_PEER_LOST);
    assert_int_equal(receive_run(context, &value, 1), HOOP_E_PEER_LOST);
}

/* Rank 2 is no member. */
static void
loss_of_another_rank_changes_nothing(void **state)
{
    struct side *sides = engine_pair.sides;
    int32_t value = 7;
    int32_t got = 0;

    engine_declare_dead(sides[0].engine, 2, "it is far away");
    progress_poll(sides[0].engine, 0);
    assert_int_equal(atomic_load(&sides[0].n_lost), 1);
    assert_ok(send_run(sides[0].comms[0].context, &value, 1));
    assert_true(has_made_none(&sides[0]));
    assert_ok(receive_run(sides[1].comms[0].context, &got, 1));
    assert_int_equal(got, 7);
    /* A member. */
    engine_declare_dead(sides[0].engine, 1, "shot");
    progress_poll(sides[0].engine, 0);
    assert_int_equal(send_run(sides[0].comms[0].context, &value, 1),
                     HOOP_E_PEER_LOST);
}

/* An earlier send of the tag has failed, as the receiver has been told: the
 * first receive ends with that, though the next message is there. */
static void
receive_ends_with_the_failure_that_waits_for_it(void **state)
{
    struct side *sides = engine_pair.sides;
    struct comm_context *context = sides[1].comms[0].context;
    const struct pending_failure failed = {
        .source = context->ranks[0],
        .tag = TAG,
        .notice = {.status = HOOP_E_EXHAUSTED,
                   .rank = HOOP_NO_RANK,
                   .why = "no memory for the first message"},
    };
    int32_t sent = 7;
    int32_t got = -1;

    progress_poll(sides[0].engine, 0);
    progress_poll(sides[1].engine, 0);
    assert_ok(send_run(sides[0].comms[0].context, &sent, 1));
    assert_int_equal(pending_failure_add(context, &failed),
                     PENDING_FAILURE_NEW);
    assert_int_equal(receive_run(context, &got, 1), HOOP_E_EXHAUSTED);
    assert_int_equal(got, -1);
    assert_ok(receive_run(context, &got, 1));
    assert_int_equal(got, 7);
}

static void
receive_gives_up_in_time(void **state)
{
    struct comm_context *context = engine_pair.sides[0].comms[0].context;
    int32_t value = 1;

    context_set_timeout(context, 20);
    assert_int_equal(receive_run(context, &value, 1), HOOP_E_TIMEOUT);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_PAIR_TEST(message_needs_no_operation),
        SIDES_TEST(either_side_goes_either_way),
        SIDES_BACKGROUND_TEST(either_side_goes_either_way),
        /* The sender ends first: what did not fit into the memory is left to
         * the background. */
        SIDES_BACKGROUND_TEST(messages_of_other_tags_are_kept_apart),
        SIDES_BACKGROUND_TEST(stream_of_messages_keeps_its_order),
        ENGINE_PAIR_TEST(rest_of_a_message_is_left_to_the_background),
        cmocka_unit_test_setup_teardown(message_is_coded_as_any_other,
                                        engine_pair_set_up_coding,
                                        engine_pair_tear_down),
        ENGINE_PAIR_TEST(message_that_does_not_fit_is_refused),
        ENGINE_PAIR_UNCONNECTED_TEST(nobody_there_is_an_error_as_ever),
        ENGINE_PAIR_TEST(loss_of_another_rank_changes_nothing),
        ENGINE_PAIR_TEST(receive_ends_with_the_failure_that_waits_for_it),
        ENGINE_PAIR_TEST(receive_gives_up_in_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
