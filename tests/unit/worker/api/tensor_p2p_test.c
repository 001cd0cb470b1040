/* tests/unit/worker/api/tensor_p2p_test.c - api/tensor_message.c */

#include "couple_case.h"

static struct hoop_tensor
row(float *values, size_t n)
{
    return (struct hoop_tensor){
        .data = values,
        .dtype = HOOP_FLOAT32,
        .shape = {1, {n}},
    };
}

static void
wrong_arguments_are_invalid(void **state)
{
    static const size_t apart[1] = {2};
    float values[4] = {0};
    struct hoop_tensor tensor = row(values, 2);
    hoop_op_t *op = NULL;

    (void)state;
    assert_invalid(hoop_send_tensor(&tensor, 1, 0, NULL), "comm is NULL");
    assert_invalid(hoop_send_tensor(NULL, 1, 0, both()), "tensor is NULL");
    assert_invalid(hoop_recv_tensor(NULL, 1, 0, both(), NULL),
                   "tensor is NULL");
    assert_invalid(hoop_send_tensor(&tensor, 2, 0, both()), "rank 2");
    assert_invalid(hoop_send_tensor(&tensor, HOOP_ANY_SOURCE, 0, both()),
                   "not below");
    assert_invalid(hoop_recv_tensor(&tensor, 1, -1, both(), &tensor), "tag -1");
    assert_invalid(hoop_send_tensor(&tensor, 1, ((int64_t)1 << 62) + 1, both()),
                   "tag 4611686018427387905");
    assert_invalid(hoop_send_tensor_start(&tensor, 1, 0, both(), NULL),
                   "out_op is NULL");
    assert_invalid(hoop_recv_tensor_start(&tensor, 1, 0, both(), &tensor, NULL),
                   "out_op is NULL");
    tensor.strides = apart;
    assert_invalid(hoop_send_tensor_start(&tensor, 1, 0, both(), &op), "dense");
    tensor = row(NULL, 2);
    assert_invalid(hoop_send_tensor_start(&tensor, 1, 0, both(), &op), "data");
    tensor = row(values, 2);
    tensor.shape.n_dims = HOOP_ANY_SHAPE;
    assert_invalid(hoop_send_tensor_start(&tensor, 1, 0, both(), &op),
                   "dimensions");
    assert_invalid(hoop_recv_tensor_start(&tensor, 1, 0, both(), &tensor, &op),
                   "data must be NULL");
    assert_null(op);
}

/* What a wrong call was given, it has again. */
static void
refused_receive_keeps_no_memory(void **state)
{
    struct hoop_tensor tensor = row(NULL, 2);
    hoop_op_t *op = NULL;

    (void)state;
    assert_invalid(hoop_recv_tensor_start(&tensor, 7, 0, both(), &tensor, &op),
                   "rank 7");
    assert_null(tensor.data);
    tensor.dtype = (enum hoop_dtype)99;
    assert_invalid(hoop_recv_tensor(&tensor, 1, 0, both(), &tensor),
                   "dtype 99");
    assert_null(tensor.data);
}

static void
no_member_is_done_at_once(void **state)
{
    struct hoop_tensor tensor = row(NULL, 2);
    hoop_op_t *op = NULL;

    (void)state;
    assert_int_equal(hoop_recv_tensor(&tensor, 9, -5, foreign(), &tensor),
                     HOOP_OK);
    assert_int_equal(hoop_send_tensor(&tensor, 9, -5, foreign()), HOOP_OK);
    assert_int_equal(
        finish(hoop_recv_tensor_start(&tensor, 9, 0, foreign(), &tensor, &op),
               &op),
        HOOP_OK);
    assert_null(tensor.data);
}

/* Into the caller's memory, into hoop's, and in the _start forms. */
static int
side_exchange(struct side *side)
{
    const uint32_t peer = 1 - side->rank;
    float mine[3] = {1, 2, 3.5F + (float)side->rank};
    float theirs[3] = {0};
    const struct hoop_tensor sent = row(mine, 3);
    struct hoop_tensor given = row(theirs, 3);
    struct hoop_tensor made = row(NULL, 3);
    hoop_op_t *ops[2];

    SIDE_CHECK(hoop_send_tensor_start(&sent, peer, 5, side->comms, &ops[0]) ==
               HOOP_OK);
    SIDE_CHECK(hoop_recv_tensor(&given, peer, 5, side->comms, &given) ==
               HOOP_OK);
    SIDE_CHECK(hoop_wait(ops[0], HOOP_FOREVER) == HOOP_OK);
    SIDE_CHECK(given.data == theirs && theirs[2] == 3.5F + (float)peer);
    SIDE_CHECK(hoop_recv_tensor_start(&made, HOOP_ANY_SOURCE, 6, side->comms,
                                      &made, &ops[0]) == HOOP_OK);
    SIDE_CHECK(hoop_send_tensor_start(&sent, peer, 6, side->comms, &ops[1]) ==
               HOOP_OK);
    SIDE_CHECK(hoop_wait_all(ops, 2, HOOP_FOREVER) == HOOP_OK);
    SIDE_CHECK(memcmp(made.data, theirs, sizeof(theirs)) == 0);
    hoop_tensor_free(&made);
    return 0;
}

static void
tensors_are_exchanged(void **state)
{
    (void)state;
    couple_run(&couple, side_exchange);
}

/* The other rank has another dtype: what was allocated is taken back. */
static int
side_differs(struct side *side)
{
    float value = 1;
    const struct hoop_tensor sent = row(&value, 1);
    struct hoop_tensor received = row(NULL, 1);

    received.dtype = HOOP_INT32;
    if (side->rank == 0) {
        SIDE_CHECK(hoop_send_tensor(&sent, 1, 0, side->comms) ==
                   HOOP_E_MISMATCH);
        return 0;
    }
    SIDE_CHECK(hoop_recv_tensor(&received, 0, 0, side->comms, &received) ==
               HOOP_E_MISMATCH);
    SIDE_CHECK(!received.data && received.dtype == HOOP_INT32);
    return 0;
}

static void
failed_receive_hands_out_nothing(void **state)
{
    (void)state;
    couple_run(&couple, side_differs);
}

/* Before the send, after it, and to oneself; also nothing at all. */
static int
side_any(struct side *side)
{
    const uint32_t peer = 1 - side->rank;
    int64_t numbers[6] = {1, 2, 3, 4, 5, 6 + (int64_t)side->rank};
    const struct hoop_tensor table = {numbers, HOOP_INT64, {2, {3, 2}}, NULL};
    const struct hoop_tensor empty = {NULL, HOOP_BOOL, {3, {4, 0, 7}}, NULL};
    struct hoop_tensor any = {.shape = {.n_dims = HOOP_ANY_SHAPE}};
    struct hoop_tensor nothing = any;
    struct hoop_tensor own = any;
    hoop_op_t *ops[3];

    SIDE_CHECK(hoop_recv_tensor_start(&any, peer, 1, side->comms, &any,
                                      &ops[0]) == HOOP_OK);
    SIDE_CHECK(any.shape.n_dims == HOOP_ANY_SHAPE && !any.data);
    SIDE_CHECK(hoop_send_tensor(&table, peer, 1, side->comms) == HOOP_OK);
    SIDE_CHECK(hoop_send_tensor_start(&empty, peer, 2, side->comms, &ops[2]) ==
               HOOP_OK);
    SIDE_CHECK(hoop_wait(ops[0], HOOP_FOREVER) == HOOP_OK);
    SIDE_CHECK(any.dtype == HOOP_INT64 && !any.strides);
    SIDE_CHECK(hoop_shape_equal(&any.shape, &table.shape));
    SIDE_CHECK(((int64_t *)any.data)[5] == 6 + (int64_t)peer);
    SIDE_CHECK(hoop_recv_tensor(&nothing, HOOP_ANY_SOURCE, 2, side->comms,
                                &nothing) == HOOP_OK);
    SIDE_CHECK(hoop_wait(ops[2], HOOP_FOREVER) == HOOP_OK);
    SIDE_CHECK(nothing.dtype == HOOP_BOOL && !nothing.data);
    SIDE_CHECK(hoop_shape_equal(&nothing.shape, &empty.shape));
    SIDE_CHECK(hoop_recv_tensor_start(&own, side->rank, 0, side->comms, &own,
                                      &ops[1]) == HOOP_OK);
    SIDE_CHECK(hoop_send_tensor(&table, side->rank, 0, side->comms) == HOOP_OK);
    SIDE_CHECK(hoop_wait(ops[1], HOOP_FOREVER) == HOOP_OK);
    SIDE_CHECK(memcmp(own.data, numbers, sizeof(numbers)) == 0);
    hoop_tensor_free(&any);
    hoop_tensor_free(&own);
    return 0;
}

static void
any_shape_is_received_and_allocated(void **state)
{
    (void)state;
    couple_run(&couple, side_any);
}

/* Rank 1 sends one of 2 times 3, or bytes; rank 0 expects something else. */
static int
side_unfit(struct side *side)
{
    float values[6] = {0};
    const struct hoop_tensor sent = {values, HOOP_FLOAT32, {2, {2, 3}}, NULL};
    struct hoop_tensor other = {values, HOOP_FLOAT32, {2, {3, 2}}, NULL};
    struct hoop_tensor any = {.shape = {.n_dims = HOOP_ANY_SHAPE}};
    enum hoop_status status;

    if (side->rank == 1) {
        status = hoop_send_tensor(&sent, 0, 0, side->comms);
        SIDE_CHECK(status == HOOP_OK || status == HOOP_E_MISMATCH);
        status = hoop_send_tensor(&sent, 0, 1, side->comms);
        SIDE_CHECK(status == HOOP_OK || status == HOOP_E_MISMATCH);
        status = hoop_send(values, 6, HOOP_FLOAT32, 0, 2, side->comms);
        SIDE_CHECK(status == HOOP_OK || status == HOOP_E_MISMATCH);
        return 0;
    }
    SIDE_CHECK(hoop_recv_tensor(&other, 1, 0, side->comms, &other) ==
               HOOP_E_MISMATCH);
    SIDE_CHECK(strstr(hoop_error_text(), "recv_tensor #1 (float32 [3, 2])"));
    SIDE_CHECK(strstr(hoop_error_text(), "send_tensor #1 (float32 [2, 3])"));
    SIDE_CHECK(hoop_recv(values, 6, HOOP_FLOAT32, 1, 1, side->comms, NULL) ==
               HOOP_E_MISMATCH);
    SIDE_CHECK(strstr(hoop_error_text(), "recv #2 (float32, 6 elements)"));
    SIDE_CHECK(hoop_recv_tensor(&any, 1, 2, side->comms, &any) ==
               HOOP_E_MISMATCH);
    SIDE_CHECK(strstr(hoop_error_text(), "recv_tensor of any shape"));
    SIDE_CHECK(strstr(hoop_error_text(), "send #3 (float32, 6 elements)"));
    SIDE_CHECK(!any.data && any.shape.n_dims == HOOP_ANY_SHAPE);
    return 0;
}

static void
what_does_not_fit_is_named(void **state)
{
    (void)state;
    couple_run(&couple, side_unfit);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(wrong_arguments_are_invalid),
        COUPLE_TEST(refused_receive_keeps_no_memory),
        COUPLE_TEST(no_member_is_done_at_once),
        COUPLE_TEST(tensors_are_exchanged),
        COUPLE_TEST(failed_receive_hands_out_nothing),
        COUPLE_TEST(any_shape_is_received_and_allocated),
        COUPLE_TEST(what_does_not_fit_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
