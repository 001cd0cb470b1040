/* tests/unit/worker/api/objects_test.c - api/objects.c */

#include <stdlib.h>

#include "base/clock.h"
#include "engine/op.h"
#include "engine_pair_api.h"

static void
wrong_arguments_are_invalid(void **state)
{
    struct hoop_objects objects;
    hoop_op_t *op = NULL;

    assert_invalid(hoop_allgather_object("", 0, &objects, NULL),
                   "comm is NULL");
    assert_invalid(hoop_allgather_object(NULL, 1, &objects, both()),
                   "send is NULL on rank 0");
    assert_invalid(
        hoop_allgather_object("", ((size_t)1 << 40) + 1, &objects, both()),
        "too large");
    assert_invalid(hoop_allgather_object("", 0, NULL, both()),
                   "out_objects is NULL on rank 0");
    assert_invalid(hoop_gather_object("", 0, NULL, 0, both()),
                   "out_objects is NULL on rank 0");
    assert_invalid(hoop_gather_object("", 0, &objects, 2, both()), "root 2");
    assert_invalid(hoop_gather_object_start("", 0, &objects, 2, both(), &op),
                   "root 2");
    assert_invalid(hoop_allgather_object_start("", 0, &objects, both(), NULL),
                   "out_op is NULL");
    assert_null(op);
}

static void
no_member_gets_nothing(void **state)
{
    struct hoop_objects objects = {.n_objects = 7};
    hoop_op_t *op = NULL;

    assert_ok(hoop_allgather_object("", 0, &objects, foreign()));
    assert_ok(hoop_gather_object_start("", 0, NULL, 3, foreign(), &op));
    assert_ok(hoop_test(op));
    assert_int_equal(objects.n_objects, 7);
}

/* Rank 0 has none, rank 1 has five letters. */
static bool
are_both(const struct hoop_objects *objects)
{
    return objects->n_objects == 2 && objects->objects[0].n_bytes == 0 &&
           objects->objects[1].n_bytes == 5 &&
           !memcmp(objects->objects[1].bytes, "seven", 5);
}

/* It has ended, but was not waited for, when its communicator is freed. */
static int
objects_outlive_their_communicator(struct side *side)
{
    const char *send = side->rank == 0 ? NULL : "seven";
    const uint64_t deadline_ns = patience();
    struct hoop_comm comm = side->comms[0];
    struct hoop_objects objects;
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_allgather_object_start(send, side->rank == 0 ? 0 : 5,
                                           &objects, &comm, &op) == HOOP_OK);
    while (!atomic_load(&((struct op *)op)->run.is_done)) {
        SIDE_CHECK(!clock_is_past(deadline_ns));
        engine_progress_background(side->engine);
    }
    memset(&comm, 0, sizeof(comm));
    SIDE_CHECK(hoop_wait(op, 0) == HOOP_OK);
    SIDE_CHECK(are_both(&objects));
    hoop_objects_free(&objects);
    return 0;
}

static void
broadcast_object_wrong_arguments_are_invalid(void **state)
{
    void *bytes = NULL;
    size_t n_bytes = 0;
    hoop_op_t *op = NULL;

    assert_invalid(hoop_broadcast_object("", 0, NULL, NULL, 0, NULL),
                   "comm is NULL");
    assert_invalid(hoop_broadcast_object(NULL, 1, NULL, NULL, 0, both()),
                   "send is NULL on rank 0");
    assert_invalid(
        hoop_broadcast_object("", ((size_t)1 << 40) + 1, NULL, NULL, 0, both()),
        "an object of 1099511627777 bytes is too large");
    assert_invalid(hoop_broadcast_object(NULL, 0, NULL, &n_bytes, 1, both()),
                   "out_bytes or out_n_bytes is NULL on rank 0");
    assert_invalid(hoop_broadcast_object(NULL, 0, &bytes, &n_bytes, 2, both()),
                   "root 2 is not below the communicator's size, 2");
    assert_invalid(
        hoop_broadcast_object_start(NULL, 0, &bytes, &n_bytes, 2, both(), &op),
        "root 2");
    assert_invalid(
        hoop_broadcast_object_start(NULL, 0, &bytes, &n_bytes, 1, both(), NULL),
        "out_op is NULL");
    assert_null(op);
}

static void
broadcast_object_no_member_gets_nothing(void **state)
{
    size_t n_bytes = 7;
    hoop_op_t *op = NULL;

    assert_ok(hoop_broadcast_object(NULL, 0, NULL, &n_bytes, 0, foreign()));
    assert_ok(hoop_broadcast_object_start(NULL, 0, NULL, &n_bytes, 0, foreign(),
                                          &op));
    assert_ok(hoop_test(op));
    assert_int_equal(n_bytes, 7);
}

static void
scatter_object_wrong_arguments_are_invalid(void **state)
{
    struct hoop_object objects[2] = {{"", 0}, {NULL, 3}};
    void *bytes = NULL;
    size_t n_bytes;
    hoop_op_t *op = NULL;

    assert_invalid(hoop_scatter_object(objects, &bytes, &n_bytes, 0, NULL),
                   "comm is NULL");
    assert_invalid(hoop_scatter_object(NULL, &bytes, &n_bytes, 0, both()),
                   "send is NULL on rank 0");
    assert_invalid(hoop_scatter_object(objects, &bytes, &n_bytes, 0, both()),
                   "the object for rank 1 is NULL");
    objects[1] = (struct hoop_object){"", ((size_t)1 << 40) + 1};
    assert_invalid(hoop_scatter_object(objects, &bytes, &n_bytes, 0, both()),
                   "too large");
    assert_invalid(hoop_scatter_object(objects, NULL, &n_bytes, 0, both()),
                   "out_bytes or out_n_bytes is NULL on rank 0");
    assert_invalid(hoop_scatter_object(objects, &bytes, NULL, 1, both()),
                   "out_bytes or out_n_bytes is NULL on rank 0");
    assert_invalid(hoop_scatter_object(objects, &bytes, &n_bytes, 2, both()),
                   "root 2");
    assert_invalid(
        hoop_scatter_object_start(NULL, &bytes, &n_bytes, 1, both(), NULL),
        "out_op is NULL");
    assert_invalid(
        hoop_scatter_object_start(objects, &bytes, &n_bytes, 3, both(), &op),
        "root 3");
    assert_null(op);
    assert_null(bytes);
}

static void
scatter_object_no_member_gets_nothing(void **state)
{
    void *bytes = NULL;
    size_t n_bytes = 7;
    hoop_op_t *op = NULL;

    assert_ok(hoop_scatter_object(NULL, &bytes, &n_bytes, 0, foreign()));
    assert_ok(hoop_scatter_object_start(NULL, NULL, NULL, 5, foreign(), &op));
    assert_ok(hoop_test(op));
    assert_null(bytes);
    assert_int_equal(n_bytes, 7);
}

static void
object_p2p_wrong_arguments_are_invalid(void **state)
{
    const int64_t too_high = ((int64_t)1 << 61) + 1;
    void *bytes = NULL;
    size_t n_bytes;
    hoop_op_t *op = NULL;

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
object_p2p_no_member_gets_nothing(void **state)
{
    void *bytes = NULL;
    size_t n_bytes = 7;
    hoop_op_t *op = NULL;

    assert_ok(hoop_send_object("", 0, 9, 0, foreign()));
    assert_ok(hoop_recv_object(&bytes, &n_bytes, 9, 0, foreign(), NULL));
    assert_ok(
        hoop_recv_object_start(&bytes, &n_bytes, 9, 0, foreign(), NULL, &op));
    assert_ok(hoop_test(op));
    assert_int_equal(n_bytes, 7);
}

/* A call that ends before its peer has sent says whom it waits for. */
static int
receive_of_nothing_names_the_call(struct side *side)
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

static int
objects_arrive_in_their_order(struct side *side)
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_PAIR_TEST(wrong_arguments_are_invalid),
        ENGINE_PAIR_TEST(no_member_gets_nothing),
        SIDES_TEST(objects_outlive_their_communicator),
        ENGINE_PAIR_TEST(broadcast_object_wrong_arguments_are_invalid),
        ENGINE_PAIR_TEST(broadcast_object_no_member_gets_nothing),
        ENGINE_PAIR_TEST(scatter_object_wrong_arguments_are_invalid),
        ENGINE_PAIR_TEST(scatter_object_no_member_gets_nothing),
        ENGINE_PAIR_TEST(object_p2p_wrong_arguments_are_invalid),
        ENGINE_PAIR_TEST(object_p2p_no_member_gets_nothing),
        SIDES_TEST(receive_of_nothing_names_the_call),
        SIDES_TEST(objects_arrive_in_their_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
