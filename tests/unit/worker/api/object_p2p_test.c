/* tests/unit/worker/api/object_p2p_test.c - api/object_p2p.c */

#include <stdlib.h>

#include "couple_case.h"

static void
wrong_arguments_are_invalid(void **state)
{
    const int64_t too_high = ((int64_t)1 << 61) + 1;
    void *bytes = NULL;
    size_t n_bytes;
    hoop_op_t *op = NULL;

    (void)state;
    assert_invalid(hoop_send_object("", 0, 1, 0, NULL), "comm is NULL");
    assert_invalid(hoop_send_object(NULL, 1, 1, 0, both()), "buffer is NULL");
    assert_invalid(hoop_send_object("", ((size_t)1 << 40) + 1, 1, 0, both()),
                   "too large");
    assert_invalid(hoop_send_object("", 0, 2, 0, both()), "rank 2");
    assert_invalid(hoop_send_object("", 0, HOOP_ANY_SOURCE, 0, both()), "rank");
    assert_invalid(hoop_send_object("", 0, 1, -1, both()), "tag -1");
    assert_invalid(hoop_send_object("", 0, 1, too_high, both()),
                   "not between 0 and 2^61");
    assert_invalid(hoop_send_object_start("", 0, 1, 0, both(), NULL),
                   "out_op is NULL");
    assert_invalid(hoop_recv_object(NULL, &n_bytes, 1, 0, both(), NULL),
                   "out_bytes or out_n_bytes is NULL");
    assert_invalid(hoop_recv_object(&bytes, NULL, 1, 0, both(), NULL),
                   "out_bytes or out_n_bytes is NULL");
    assert_invalid(hoop_recv_object(&bytes, &n_bytes, 3, 0, both(), NULL),
                   "rank 3");
    assert_invalid(hoop_recv_object_start(&bytes, &n_bytes, 1, too_high, both(),
                                          NULL, &op),
                   "not between 0 and 2^61");
    assert_null(op);
}

static void
no_member_gets_nothing(void **state)
{
    void *bytes = NULL;
    size_t n_bytes = 7;
    hoop_op_t *op = NULL;

    (void)state;
    assert_int_equal(hoop_send_object("", 0, 9, 0, foreign()), HOOP_OK);
    assert_int_equal(hoop_recv_object(&bytes, &n_bytes, 9, 0, foreign(), NULL),
                     HOOP_OK);
    assert_int_equal(
        hoop_recv_object_start(&bytes, &n_bytes, 9, 0, foreign(), NULL, &op),
        HOOP_OK);
    assert_int_equal(hoop_test(op), HOOP_OK);
    assert_int_equal(n_bytes, 7);
}

/* A call that ends before its peer has sent says whom it waits for. */
static int
side_late(struct side *side)
{
    void *bytes = NULL;
    size_t n_bytes = 7;

    if (side->rank == 1)
        return 0;
    hoop_comm_set_timeout(side->comms, 200);
    SIDE_CHECK(hoop_recv_object(&bytes, &n_bytes, 1, 4, side->comms, NULL) ==
               HOOP_E_TIMEOUT);
    SIDE_CHECK(strstr(hoop_error_text(), "recv_object"));
    SIDE_CHECK(!bytes && n_bytes == 7);
    return 0;
}

static void
receive_of_nothing_names_the_call(void **state)
{
    (void)state;
    couple_run(&couple, side_late);
}

static int
side_object(struct side *side)
{
    void *bytes = &bytes;
    size_t n_bytes = 7;
    struct hoop_received received = {0};

    if (side->rank == 1) {
        SIDE_CHECK(hoop_send_object("seven", 5, 0, 4, side->comms) == HOOP_OK);
        SIDE_CHECK(hoop_send_object(NULL, 0, 0, 4, side->comms) == HOOP_OK);
        return 0;
    }
    SIDE_CHECK(hoop_recv_object(&bytes, &n_bytes, 1, 4, side->comms,
                                &received) == HOOP_OK);
    SIDE_CHECK(n_bytes == 5 && !memcmp(bytes, "seven", 5));
    SIDE_CHECK(received.source == 1 && received.count == 5);
    hoop_object_free(bytes);
    SIDE_CHECK(hoop_recv_object(&bytes, &n_bytes, HOOP_ANY_SOURCE, 4,
                                side->comms, NULL) == HOOP_OK);
    SIDE_CHECK(n_bytes == 0 && !bytes);
    return 0;
}

static void
objects_arrive_in_their_order(void **state)
{
    (void)state;
    couple_run(&couple, side_object);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(wrong_arguments_are_invalid),
        COUPLE_TEST(no_member_gets_nothing),
        COUPLE_TEST(receive_of_nothing_names_the_call),
        COUPLE_TEST(objects_arrive_in_their_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
