/* tests/unit/worker/api/p2p_test.c - api/p2p.c */

#include <string.h>

#include "hoop/hoop.h"

#include "couple_scene.h"

static void
assert_invalid(enum hoop_status status, const char *text)
{
    assert_int_equal(status, HOOP_E_INVALID);
    if (!strstr(hoop_error_text(), text))
        fail_msg("the text is: %s", hoop_error_text());
}

static void
wrong_arguments_are_invalid(void **state)
{
    hoop_comm_t *comm = &couple.sides[0].comms[0];
    int32_t value = 0;
    hoop_op_t *op = NULL;

    (void)state;
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

static int
side_exchange(struct side *side)
{
    static const int64_t tags[] = {0, 1, (int64_t)1 << 62};
    hoop_comm_t *comm = &side->comms[0];
    const uint32_t peer = 1 - side->rank;

    for (unsigned i = 0; i < 3; i++) {
        const int32_t mine[2] = {1 + (int32_t)side->rank, (int32_t)i};
        struct hoop_received received = {9, 9};
        int32_t theirs[4] = {0};
        hoop_op_t *op = NULL;

        SIDE_CHECK(hoop_send_start(mine, 2, HOOP_INT32, peer, tags[i], comm,
                                   &op) == HOOP_OK);
        SIDE_CHECK(hoop_recv(theirs, 4, HOOP_INT32, peer, tags[i], comm,
                             &received) == HOOP_OK);
        SIDE_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
        SIDE_CHECK(theirs[0] == 1 + (int32_t)peer && theirs[1] == (int32_t)i);
        SIDE_CHECK(received.source == peer && received.count == 2);
    }
    return 0;
}

static void
messages_go_both_ways_with_every_tag(void **state)
{
    (void)state;
    couple_run(&couple, side_exchange);
}

static int
side_any(struct side *side)
{
    hoop_comm_t *comm = &side->comms[1];
    struct hoop_received received = {9, 9};
    double value = 2.5;
    hoop_op_t *op = NULL;

    if (side->rank == 1) {
        SIDE_CHECK(hoop_send(&value, 1, HOOP_FLOAT64, 0, 3, comm) == HOOP_OK);
        return 0;
    }
    value = 0;
    SIDE_CHECK(hoop_recv_start(&value, 1, HOOP_FLOAT64, HOOP_ANY_SOURCE, 3,
                               comm, &received, &op) == HOOP_OK);
    SIDE_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    SIDE_CHECK(value == 2.5 && received.source == 1 && received.count == 1);
    return 0;
}

static void
receive_from_any_source_tells_which(void **state)
{
    (void)state;
    couple_run(&couple, side_any);
}

static int
side_self(struct side *side)
{
    hoop_comm_t *comm = &side->comms[3];
    struct hoop_received received = {9, 9};
    const int32_t mine = 40 + (int32_t)side->rank;
    int32_t value = 0;
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_send_start(&mine, 1, HOOP_INT32, side->rank, 6, comm,
                               &op) == HOOP_OK);
    SIDE_CHECK(hoop_recv(&value, 1, HOOP_INT32, side->rank, 6, comm,
                         &received) == HOOP_OK);
    SIDE_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    SIDE_CHECK(value == mine && received.source == side->rank);
    return 0;
}

static void
message_to_oneself_arrives(void **state)
{
    (void)state;
    couple_run(&couple, side_self);
}

static int
side_nothing(struct side *side)
{
    struct hoop_received received = {9, 9};
    hoop_comm_t *comm = &side->comms[2];

    if (side->rank == 1) {
        SIDE_CHECK(hoop_send(NULL, 0, HOOP_INT8, 0, 0, comm) == HOOP_OK);
        return 0;
    }
    SIDE_CHECK(hoop_recv(NULL, 0, HOOP_INT8, 1, 0, comm, &received) == HOOP_OK);
    SIDE_CHECK(received.source == 1 && received.count == 0);
    return 0;
}

static void
message_of_nothing_needs_no_buffer(void **state)
{
    (void)state;
    couple_run(&couple, side_nothing);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(wrong_arguments_are_invalid),
        COUPLE_TEST(messages_go_both_ways_with_every_tag),
        COUPLE_TEST(receive_from_any_source_tells_which),
        COUPLE_TEST(message_to_oneself_arrives),
        COUPLE_TEST(message_of_nothing_needs_no_buffer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
