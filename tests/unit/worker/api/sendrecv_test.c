/* tests/unit/worker/api/sendrecv_test.c - api/p2p.c */

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
    int32_t values[2] = {0};
    const struct hoop_message out = message(HOOP_SEND, &values[0], 1);
    const struct hoop_message in = message(HOOP_RECV, &values[1], 1);
    const struct hoop_message far_in = message(HOOP_RECV, &values[1], 2);
    const struct hoop_message any_out =
        message(HOOP_SEND, &values[0], HOOP_ANY_SOURCE);

    (void)state;
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

    (void)state;
    assert_int_equal(hoop_sendrecv(&out, &in, foreign(), NULL), HOOP_OK);
    assert_int_equal(hoop_sendrecv_start(&out, &in, foreign(), NULL, &op),
                     HOOP_OK);
    assert_int_equal(hoop_test(op), HOOP_OK);
    assert_int_equal(values[1], 2);
}

static int
side_swap(struct side *side)
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
values_are_swapped(void **state)
{
    (void)state;
    couple_run(&couple, side_swap);
}

static void
message_to_oneself_is_one_operation_too(void **state)
{
    int32_t values[2] = {7, 0};
    const struct hoop_message out = message(HOOP_SEND, &values[0], 0);
    const struct hoop_message in = message(HOOP_RECV, &values[1], 0);

    (void)state;
    assert_int_equal(hoop_sendrecv(&out, &in, both(), NULL), HOOP_OK);
    assert_int_equal(values[1], 7);
}

/* What each half still waits for is given up when the other fails: rank 1's
 * message is too long, and rank 0's is never received. */
static int
side_half_fails(struct side *side)
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
failure_of_one_half_ends_the_other(void **state)
{
    (void)state;
    couple_run(&couple, side_half_fails);
}

static void
half_that_waits_is_pending(void **state)
{
    int32_t values[2] = {7, 0};
    int32_t late = 8;
    const struct hoop_message out = message(HOOP_SEND, &values[0], 1);
    const struct hoop_message in = message(HOOP_RECV, &values[1], 0);
    hoop_op_t *op = NULL;

    (void)state;
    assert_int_equal(hoop_sendrecv_start(&out, &in, both(), NULL, &op),
                     HOOP_OK);
    assert_int_equal(hoop_test(op), HOOP_E_PENDING);
    assert_int_equal(hoop_test(op), HOOP_E_PENDING);
    assert_int_equal(hoop_send(&late, 1, HOOP_INT32, 0, 0, both()), HOOP_OK);
    assert_int_equal(hoop_wait(op, HOOP_FOREVER), HOOP_OK);
    assert_int_equal(values[1], 8);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(wrong_arguments_are_invalid),
        COUPLE_TEST(no_member_has_nothing_to_exchange),
        COUPLE_TEST(values_are_swapped),
        COUPLE_TEST(message_to_oneself_is_one_operation_too),
        COUPLE_TEST(failure_of_one_half_ends_the_other),
        COUPLE_TEST(half_that_waits_is_pending),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
