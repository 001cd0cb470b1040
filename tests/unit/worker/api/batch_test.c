/* tests/unit/worker/api/batch_test.c - api/p2p.c */

#include "couple_case.h"

static struct hoop_message
message(enum hoop_message_kind kind, int32_t *value, uint32_t peer)
{
    return (struct hoop_message){
        .kind = kind,
        .buffer = value,
        .count = 1,
        .dtype = HOOP_INT32,
        .peer = peer,
    };
}

static void
wrong_arguments_are_invalid(void **state)
{
    int32_t value = 0;
    hoop_op_t *ops[2] = {NULL, NULL};
    struct hoop_message messages[2] = {message(HOOP_SEND, &value, 1),
                                       message(HOOP_RECV, &value, 1)};

    (void)state;
    assert_invalid(hoop_batch(messages, 2, NULL), "comm is NULL");
    assert_invalid(hoop_batch(NULL, 2, both()), "messages is NULL");
    assert_invalid(hoop_batch_start(messages, 2, both(), NULL),
                   "out_ops is NULL");
    messages[1].kind = (enum hoop_message_kind)7;
    assert_invalid(hoop_batch_start(messages, 2, both(), ops),
                   "message 1 of the batch: kind 7 is neither");
    messages[1].kind = HOOP_RECV;
    messages[1].tag = -3;
    assert_invalid(hoop_batch_start(messages, 2, both(), ops),
                   "message 1 of the batch: tag -3");
    assert_null(ops[0]);
    assert_null(ops[1]);
}

static void
empty_list_is_done(void **state)
{
    (void)state;
    assert_int_equal(hoop_batch(NULL, 0, both()), HOOP_OK);
    assert_int_equal(hoop_batch_start(NULL, 0, both(), NULL), HOOP_OK);
}

static void
no_member_gets_operations_that_are_done(void **state)
{
    int32_t value = 3;
    hoop_op_t *ops[2] = {NULL, NULL};
    const struct hoop_message messages[2] = {message(HOOP_RECV, &value, 1),
                                             message(HOOP_RECV, &value, 7)};

    (void)state;
    assert_int_equal(hoop_batch(messages, 2, foreign()), HOOP_OK);
    assert_int_equal(hoop_batch_start(messages, 2, foreign(), ops), HOOP_OK);
    assert_int_equal(hoop_wait(ops[0], HOOP_FOREVER), HOOP_OK);
    assert_int_equal(hoop_wait_all(ops + 1, 1, HOOP_FOREVER), HOOP_OK);
    assert_null(ops[1]);
    assert_int_equal(value, 3);
}

/* To the peer, to oneself, and back; receives stand before their sends. */
static int
side_all_ways(struct side *side)
{
    const uint32_t peer = 1 - side->rank;
    int32_t mine[2] = {10 + (int32_t)side->rank, 20 + (int32_t)side->rank};
    int32_t theirs[3] = {0};
    struct hoop_received received = {9, 9};
    hoop_op_t *ops[4];
    struct hoop_message messages[4] = {
        message(HOOP_RECV, &theirs[0], HOOP_ANY_SOURCE),
        message(HOOP_RECV, &theirs[1], side->rank),
        message(HOOP_SEND, &mine[0], peer),
        message(HOOP_SEND, &mine[1], side->rank),
    };

    messages[0].tag = 4;
    messages[0].received = &received;
    messages[2].tag = 4;
    SIDE_CHECK(hoop_batch(messages, 4, side->comms) == HOOP_OK);
    SIDE_CHECK(theirs[0] == 10 + (int32_t)peer && theirs[1] == mine[1]);
    SIDE_CHECK(received.source == peer);

    memset(theirs, 0, sizeof(theirs));
    SIDE_CHECK(hoop_batch_start(messages, 4, side->comms, ops) == HOOP_OK);
    SIDE_CHECK(hoop_wait(ops[1], HOOP_FOREVER) == HOOP_OK);
    ops[1] = NULL;
    SIDE_CHECK(theirs[1] == mine[1]);
    SIDE_CHECK(hoop_wait_all(ops, 4, HOOP_FOREVER) == HOOP_OK);
    SIDE_CHECK(theirs[0] == 10 + (int32_t)peer);
    return 0;
}

static void
messages_of_a_list_run_at_once(void **state)
{
    (void)state;
    couple_run(&couple, side_all_ways);
}

/* With one tag they arrive in the order of the list. */
static int
side_order(struct side *side)
{
    enum {
        MANY = 300
    };
    int32_t values[MANY];
    struct hoop_message messages[MANY];

    for (int32_t i = 0; i < MANY; i++) {
        values[i] = side->rank == 0 ? i : -1;
        messages[i] = message(side->rank == 0 ? HOOP_SEND : HOOP_RECV,
                              &values[i], 1 - side->rank);
    }
    SIDE_CHECK(hoop_batch(messages, MANY, side->comms) == HOOP_OK);
    for (int32_t i = 0; i < MANY; i++)
        SIDE_CHECK(values[i] == i);
    return 0;
}

static void
order_of_the_list_is_kept(void **state)
{
    (void)state;
    couple_run(&couple, side_order);
}

static void
refused_list_sends_nothing(void **state)
{
    int32_t values[2] = {1, 2};
    int32_t came = 0;
    struct hoop_message messages[2] = {message(HOOP_SEND, &values[0], 0),
                                       message(HOOP_SEND, &values[1], 9)};

    (void)state;
    assert_invalid(hoop_batch(messages, 2, both()), "message 1 of the batch");
    messages[0].buffer = &values[1];
    assert_int_equal(hoop_batch(messages, 1, both()), HOOP_OK);
    assert_int_equal(hoop_recv(&came, 1, HOOP_INT32, 0, 0, both(), NULL),
                     HOOP_OK);
    assert_int_equal(came, 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(wrong_arguments_are_invalid),
        COUPLE_TEST(empty_list_is_done),
        COUPLE_TEST(no_member_gets_operations_that_are_done),
        COUPLE_TEST(messages_of_a_list_run_at_once),
        COUPLE_TEST(order_of_the_list_is_kept),
        COUPLE_TEST(refused_list_sends_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
