/* tests/unit/worker/engine/events_test.c - engine/events.c */

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "couple_scene.h"

static void
receive_from_any_tells_source_and_count(void **state)
{
    int32_t values[10] = {0};
    const int32_t sent[3] = {5, 6, 7};
    struct hoop_received received = {.source = 99, .count = 99};
    struct op *op = NULL;
    const struct engine_message in = {
        .call = {.name = CALL_RECV, .dtype = HOOP_INT32, .count = 10},
        .tag = 4,
        .peer = HOOP_ANY_SOURCE,
        .bytes = values,
        .received = &received,
    };
    const struct engine_message out = {
        .call = {.name = CALL_SEND, .dtype = HOOP_INT32, .count = 3},
        .tag = 4,
        .peer = 0,
        .bytes = (void *)(uintptr_t)sent,
    };

    (void)state;
    assert_int_equal(
        engine_start_messages(couple.sides[1].comms[0].context, &out, 1, &op),
        HOOP_OK);
    assert_int_equal(engine_wait(op, patience()), HOOP_OK);
    assert_int_equal(
        engine_start_messages(couple.sides[0].comms[0].context, &in, 1, &op),
        HOOP_OK);
    assert_int_equal(engine_wait(op, patience()), HOOP_OK);
    assert_int_equal(received.source, 1);
    assert_int_equal(received.count, 3);
    assert_memory_equal(values, sent, sizeof(sent));
    assert_int_equal(values[3], 0);
}

/* Rank 1 has a communicator of both by the id that rank 0 alone has here. */
static void
message_of_no_member_has_no_rank(void **state)
{
    static const uint32_t ranks[] = {0, 1};
    struct hoop_received received = {.source = 99};
    struct comm_context *contexts[2];
    char bytes[4] = "";
    struct op *op = NULL;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        const struct context_options options = {.id = 77,
                                                .rank = i,
                                                .size = 1 + i,
                                                .ranks = ranks,
                                                .timeout_ms = 30000};

        assert_int_equal(
            context_open(couple.sides[i].engine, &options, &contexts[i]),
            HOOP_OK);
    }
    const struct engine_message in = {
        .call = {.name = CALL_RECV, .dtype = HOOP_UINT8, .count = 3},
        .tag = 4,
        .peer = HOOP_ANY_SOURCE,
        .bytes = bytes,
        .received = &received,
    };
    assert_int_equal(send_start(contexts[1], "abc", 3, 4, &op), HOOP_OK);
    assert_int_equal(engine_wait(op, patience()), HOOP_OK);
    assert_int_equal(engine_start_messages(contexts[0], &in, 1, &op), HOOP_OK);
    assert_int_equal(engine_wait(op, patience()), HOOP_OK);
    assert_string_equal(bytes, "abc");
    assert_int_equal(received.source, HOOP_NO_RANK);
}

static void
message_of_nothing_arrives_with_and_without_a_buffer(void **state)
{
    char bytes[4] = "abc";
    struct op *op = NULL;
    struct op *sent = NULL;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        char *place = i % 2 ? bytes : NULL;
        struct comm_context *from = couple.sides[1].comms[0].context;
        struct comm_context *to = couple.sides[0].comms[0].context;
        const size_t n_room = i % 2 ? 4 : 0;

        /* Asked for before it comes, then after. */
        if (i < 2)
            assert_int_equal(receive_start(to, place, n_room, 1, &op), HOOP_OK);
        assert_int_equal(send_start(from, NULL, 0, 1, &sent), HOOP_OK);
        assert_int_equal(engine_wait(sent, patience()), HOOP_OK);
        if (i >= 2)
            assert_int_equal(receive_start(to, place, n_room, 1, &op), HOOP_OK);
        assert_int_equal(engine_wait(op, clock_deadline_ns(5000)), HOOP_OK);
    }
    assert_string_equal(bytes, "abc");
}

/* What comes for a call that has not been made here yet is kept. */
static void
collective_that_the_other_began_earlier_is_joined(void **state)
{
    int32_t first = 1;
    int32_t second = 2;
    struct op *op = NULL;
    struct op *other = NULL;

    (void)state;
    assert_int_equal(
        sum_start(couple.sides[1].comms[0].context, &first, 1, &op), HOOP_OK);
    for (unsigned i = 0; i < 3; i++)
        engine_progress_background(couple.sides[0].engine);
    assert_int_equal(
        sum_start(couple.sides[0].comms[0].context, &second, 1, &other),
        HOOP_OK);
    while (engine_wait(op, 0) == HOOP_E_PENDING)
        engine_progress_background(couple.sides[0].engine);
    assert_int_equal(engine_wait(other, patience()), HOOP_OK);
    assert_int_equal(first, 3);
    assert_int_equal(second, 3);
}

static int
side_mixed(struct side *side)
{
    static const char text[100000] = "a long one";
    static char bytes[2][100000];
    struct comm_context *context = side->comms[0].context;
    int32_t values[100] = {1};
    struct op *in = NULL;
    struct op *out = NULL;

    /* Messages and collectives of one context do not meet. */
    for (unsigned i = 0; i < 20; i++) {
        SIDE_CHECK(receive_start(context, bytes[side->rank], sizeof(text), 1,
                                 &in) == HOOP_OK);
        values[0] = 1;
        SIDE_CHECK(sum_run(context, values, 100) == HOOP_OK);
        SIDE_CHECK(values[0] == 2);
        SIDE_CHECK(send_start(context, text, sizeof(text), 1, &out) == HOOP_OK);
        SIDE_CHECK(engine_wait(in, patience()) == HOOP_OK);
        SIDE_CHECK(engine_wait(out, patience()) == HOOP_OK);
        SIDE_CHECK(memcmp(bytes[side->rank], text, sizeof(text)) == 0);
    }
    return 0;
}

static void
messages_and_collectives_share_a_context(void **state)
{
    (void)state;
    couple_run(&couple, side_mixed);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(receive_from_any_tells_source_and_count),
        COUPLE_TEST(message_of_no_member_has_no_rank),
        COUPLE_TEST(message_of_nothing_arrives_with_and_without_a_buffer),
        COUPLE_TEST(collective_that_the_other_began_earlier_is_joined),
        COUPLE_TEST(messages_and_collectives_share_a_context),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
