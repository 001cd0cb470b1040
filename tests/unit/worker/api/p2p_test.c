/* tests/unit/worker/api/p2p_test.c - api/p2p.c */

#include <string.h>

#include "hoop/hoop.h"

#include "engine_pair_api.h"
#include "engine_pair_fixture.h"

static void
wrong_arguments_are_invalid(void **state)
{
    hoop_comm_t *comm = &engine_pair.sides[0].comms[0];
    int32_t value = 0;
    hoop_op_t *op = NULL;

    assert_invalid(hoop_send(&value, 1, HOOP_INT32, 1, 0, NULL), "comm");
    assert_invalid(hoop_send(&value, 1, HOOP_INT32, 2, 0, comm),
                   "rank 2 is not below the communicator's size, 2");
    assert_invalid(hoop_send(&value, 1, HOOP_INT32, HOOP_ANY_SOURCE, 0, comm),
                   "not below");
    assert_invalid(hoop_send(&value, 1, (enum hoop_dtype)99, 1, 0, comm),
                   "dtype 99");
    assert_invalid(hoop_send(&value, 1, HOOP_INT32, 1, -1, comm), "tag -1");
    assert_invalid(
        hoop_send(&value, 1, HOOP_INT32, 1, ((int64_t)1 << 62) + 1, comm),
        "tag 4611686018427387905");
    assert_invalid(hoop_send(&value, SIZE_MAX, HOOP_INT32, 1, 0, comm),
                   "too many");
    assert_invalid(hoop_send(NULL, 1, HOOP_INT32, 1, 0, comm),
                   "buffer is NULL");
    assert_invalid(hoop_recv(NULL, 1, HOOP_INT32, 1, 0, comm, NULL),
                   "buffer is NULL");
    assert_invalid(hoop_send_start(&value, 1, HOOP_INT32, 1, 0, comm, NULL),
                   "out_op is NULL");
    assert_invalid(
        hoop_recv_start(&value, 1, HOOP_INT32, 1, 0, comm, NULL, NULL),
        "out_op is NULL");
    assert_invalid(hoop_send_start(&value, 1, HOOP_INT32, 7, 0, comm, &op),
                   "rank 7");
    assert_null(op);
}

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
sendrecv_wrong_arguments_are_invalid(void **state)
{
    int32_t values[2] = {0};
    const struct hoop_message out = message(HOOP_SEND, &values[0], 1);
    const struct hoop_message in = message(HOOP_RECV, &values[1], 1);
    const struct hoop_message far_in = message(HOOP_RECV, &values[1], 2);
    const struct hoop_message any_out =
        message(HOOP_SEND, &values[0], HOOP_ANY_SOURCE);

    assert_invalid(hoop_sendrecv(&out, &in, NULL, NULL), "comm is NULL");
    assert_invalid(hoop_sendrecv(NULL, &in, both(), NULL), "send is NULL");
    assert_invalid(hoop_sendrecv(&out, NULL, both(), NULL), "recv is NULL");
    assert_invalid(hoop_sendrecv(&in, &in, both(), NULL),
                   "send must be of kind HOOP_SEND");
    assert_invalid(hoop_sendrecv(&out, &out, both(), NULL),
                   "recv must be of kind HOOP_RECV");
    assert_invalid(hoop_sendrecv(&out, &far_in, both(), NULL),
                   "recv: rank 2 is not below");
    assert_invalid(hoop_sendrecv(&any_out, &in, both(), NULL),
                   "send: rank 4294967295");
    assert_invalid(hoop_sendrecv_start(&out, &in, both(), NULL, NULL),
                   "out_op is NULL");
}

static void
no_member_has_nothing_to_exchange(void **state)
{
    int32_t values[2] = {1, 2};
    const struct hoop_message out = message(HOOP_SEND, &values[0], 1);
    const struct hoop_message in = message(HOOP_RECV, &values[1], 1);
    hoop_op_t *op = NULL;

    assert_ok(hoop_sendrecv(&out, &in, foreign(), NULL));
    assert_ok(hoop_sendrecv_start(&out, &in, foreign(), NULL, &op));
    assert_ok(hoop_test(op));
    assert_int_equal(values[1], 2);
}

static int
values_are_swapped(struct side *side)
{
    const uint32_t peer = 1 - side->rank;
    struct hoop_received received = {9, 9};
    int32_t mine = 10 + (int32_t)side->rank;
    int32_t theirs = 0;
    const struct hoop_message out = message(HOOP_SEND, &mine, peer);
    struct hoop_message in = message(HOOP_RECV, &theirs, peer);
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_sendrecv(&out, &in, side->comms, &received) == HOOP_OK);
    SIDE_CHECK(theirs == 10 + (int32_t)peer);
    SIDE_CHECK(received.source == peer && received.count == 1);
    in.peer = HOOP_ANY_SOURCE;
    in.received = &received;
    received.source = 9;
    SIDE_CHECK(hoop_sendrecv_start(&out, &in, side->comms, NULL, &op) ==
               HOOP_OK);
    SIDE_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    SIDE_CHECK(received.source == peer);
    return 0;
}

static void
message_to_oneself_is_one_operation_too(void **state)
{
    int32_t values[2] = {7, 0};
    const struct hoop_message out = message(HOOP_SEND, &values[0], 0);
    const struct hoop_message in = message(HOOP_RECV, &values[1], 0);

    assert_ok(hoop_sendrecv(&out, &in, both(), NULL));
    assert_int_equal(values[1], 7);
}

/* What each half still waits for is given up when the other fails: rank 1's
 * message is too long, and rank 0's is never received. */
static int
failure_of_one_half_ends_the_other(struct side *side)
{
    int32_t values[4] = {0};
    struct hoop_message out = message(HOOP_SEND, &values[0], 1);
    const struct hoop_message in = message(HOOP_RECV, &values[1], 1);

    if (side->rank == 1) {
        SIDE_CHECK(hoop_send(values, 4, HOOP_INT32, 0, 0, side->comms) ==
                       HOOP_OK ||
                   strstr(hoop_error_text(), "recv"));
        return 0;
    }
    /* Never received, and too large to be complete without. */
    static int32_t large[1 << 20];
    out.buffer = large;
    out.count = 1 << 20;
    out.tag = 5;
    SIDE_CHECK(hoop_sendrecv(&out, &in, side->comms, NULL) == HOOP_E_MISMATCH);
    SIDE_CHECK(strstr(hoop_error_text(), "recv (int32, 1 elements)"));
    return 0;
}

static void
half_that_waits_is_pending(void **state)
{
    int32_t values[2] = {7, 0};
    int32_t late = 8;
    const struct hoop_message out = message(HOOP_SEND, &values[0], 1);
    const struct hoop_message in = message(HOOP_RECV, &values[1], 0);
    hoop_op_t *op = NULL;

    assert_ok(hoop_sendrecv_start(&out, &in, both(), NULL, &op));
    assert_int_equal(hoop_test(op), HOOP_E_PENDING);
    assert_int_equal(hoop_test(op), HOOP_E_PENDING);
    assert_ok(hoop_send(&late, 1, HOOP_INT32, 0, 0, both()));
    assert_ok(hoop_wait(op, HOOP_FOREVER));
    assert_int_equal(values[1], 8);
}

static void
batch_wrong_arguments_are_invalid(void **state)
{
    int32_t value = 0;
    hoop_op_t *ops[2] = {NULL, NULL};
    struct hoop_message messages[2] = {message(HOOP_SEND, &value, 1),
                                       message(HOOP_RECV, &value, 1)};

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
    assert_ok(hoop_batch(NULL, 0, both()));
    assert_ok(hoop_batch_start(NULL, 0, both(), NULL));
}

static void
no_member_gets_operations_that_are_done(void **state)
{
    int32_t value = 3;
    hoop_op_t *ops[2] = {NULL, NULL};
    const struct hoop_message messages[2] = {message(HOOP_RECV, &value, 1),
                                             message(HOOP_RECV, &value, 7)};

    assert_ok(hoop_batch(messages, 2, foreign()));
    assert_ok(hoop_batch_start(messages, 2, foreign(), ops));
    assert_ok(hoop_wait(ops[0], HOOP_FOREVER));
    assert_ok(hoop_wait_all(ops + 1, 1, HOOP_FOREVER));
    assert_null(ops[1]);
    assert_int_equal(value, 3);
}

/* To the peer, to oneself, and back; receives stand before their sends. */
static int
messages_of_a_list_run_at_once(struct side *side)
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

/* With one tag they arrive in the order of the list. */
static int
order_of_the_list_is_kept(struct side *side)
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
refused_list_sends_nothing(void **state)
{
    int32_t values[2] = {1, 2};
    int32_t came = 0;
    struct hoop_message messages[2] = {message(HOOP_SEND, &values[0], 0),
                                       message(HOOP_SEND, &values[1], 9)};

    assert_invalid(hoop_batch(messages, 2, both()), "message 1 of the batch");
    messages[0].buffer = &values[1];
    assert_ok(hoop_batch(messages, 1, both()));
    assert_ok(hoop_recv(&came, 1, HOOP_INT32, 0, 0, both(), NULL));
    assert_int_equal(came, 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_PAIR_TEST(wrong_arguments_are_invalid),
        ENGINE_PAIR_TEST(sendrecv_wrong_arguments_are_invalid),
        ENGINE_PAIR_TEST(no_member_has_nothing_to_exchange),
        SIDES_TEST(values_are_swapped),
        ENGINE_PAIR_TEST(message_to_oneself_is_one_operation_too),
        SIDES_TEST(failure_of_one_half_ends_the_other),
        ENGINE_PAIR_TEST(half_that_waits_is_pending),
        ENGINE_PAIR_TEST(batch_wrong_arguments_are_invalid),
        ENGINE_PAIR_TEST(empty_list_is_done),
        ENGINE_PAIR_TEST(no_member_gets_operations_that_are_done),
        SIDES_TEST(messages_of_a_list_run_at_once),
        SIDES_TEST(order_of_the_list_is_kept),
        ENGINE_PAIR_TEST(refused_list_sends_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
