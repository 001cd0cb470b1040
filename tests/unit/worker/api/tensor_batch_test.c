/* tests/unit/worker/api/tensor_batch_test.c - api/tensor_message.c */

#include "api/tags.h"
#include "api/tensor_message.h"
#include "engine_pair_api.h"
#include "wire/frame_tensor.h"

static struct hoop_tensor
table(int64_t *values)
{
    return (struct hoop_tensor){
        .data = values,
        .dtype = HOOP_INT64,
        .shape = {2, {2, 2}},
    };
}

static void
wrong_arguments_are_invalid(void **state)
{
    int64_t values[4] = {0};
    struct hoop_tensor sent = table(values);
    struct hoop_tensor received = table(NULL);
    hoop_op_t *ops[2] = {NULL, NULL};
    struct hoop_tensor_message messages[2] = {
        {HOOP_RECV, &received, 1, 0, &received},
        {HOOP_SEND, &sent, 1, 0, NULL}};

    assert_invalid(hoop_batch_tensors(messages, 2, NULL), "comm is NULL");
    assert_invalid(hoop_batch_tensors(NULL, 2, both()), "messages is NULL");
    assert_invalid(hoop_batch_tensors_start(messages, 2, both(), NULL),
                   "out_ops is NULL");
    messages[1].kind = (enum hoop_message_kind)7;
    assert_invalid(hoop_batch_tensors_start(messages, 2, both(), ops),
                   "message 1 of the batch: kind 7 is neither");
    messages[1].kind = HOOP_SEND;
    messages[1].tag = -3;
    assert_invalid(hoop_batch_tensors(messages, 2, both()),
                   "message 1 of the batch: tag -3");
    messages[1].tag = 0;
    messages[1].tensor = NULL;
    assert_invalid(hoop_batch_tensors(messages, 2, both()),
                   "message 1 of the batch: tensor is NULL");
    /* The first was to be allocated. */
    assert_null(received.data);
    assert_null(ops[0]);
}

static void
empty_list_is_done(void **state)
{
    assert_ok(hoop_batch_tensors(NULL, 0, both()));
    assert_ok(hoop_batch_tensors_start(NULL, 0, both(), NULL));
}

static void
no_member_gets_operations_that_are_done(void **state)
{
    struct hoop_tensor received = table(NULL);
    const struct hoop_tensor_message message = {HOOP_RECV, &received, 7, -1,
                                                &received};
    hoop_op_t *op = NULL;

    assert_ok(hoop_batch_tensors(&message, 1, foreign()));
    assert_ok(
        finish(hoop_batch_tensors_start(&message, 1, foreign(), &op), &op));
    assert_null(received.data);
}

/* To the peer, to oneself, and back; receives stand before their sends. */
static int
tensors_of_a_list_run_at_once(struct side *side)
{
    const uint32_t peer = 1 - side->rank;
    int64_t values[4] = {1, 2, 3, 10 + (int64_t)side->rank};
    struct hoop_tensor sent = table(values);
    struct hoop_tensor theirs = table(NULL);
    struct hoop_tensor mine = table(NULL);
    hoop_op_t *ops[4];
    const struct hoop_tensor_message messages[4] = {
        {HOOP_RECV, &theirs, peer, 4, &theirs},
        {HOOP_RECV, &mine, side->rank, 0, &mine},
        {HOOP_SEND, &sent, peer, 4, NULL},
        {HOOP_SEND, &sent, side->rank, 0, NULL},
    };

    SIDE_CHECK(hoop_batch_tensors(messages, 4, side->comms) == HOOP_OK);
    SIDE_CHECK(((int64_t *)theirs.data)[3] == 10 + (int64_t)peer);
    SIDE_CHECK(memcmp(mine.data, values, sizeof(values)) == 0);

    memset(theirs.data, 0, sizeof(values));
    SIDE_CHECK(hoop_batch_tensors_start(messages, 4, side->comms, ops) ==
               HOOP_OK);
    SIDE_CHECK(hoop_wait_all(ops, 4, HOOP_FOREVER) == HOOP_OK);
    SIDE_CHECK(((int64_t *)theirs.data)[3] == 10 + (int64_t)peer);
    hoop_tensor_free(&theirs);
    hoop_tensor_free(&mine);
    return 0;
}

enum {
    N_TAGS = 18, /* three of six parts */
};

/* One tag of each part, and one of a program: none takes another's. */
static int
tags_of_one_part_meet_no_others(struct side *side)
{
    static const uint64_t numbers[] = {0, 1, ((uint64_t)1 << 56) - 1};
    const bool is_sender = side->rank == 0;
    int64_t values[N_TAGS][4] = {0};
    struct hoop_tensor tensors[N_TAGS];
    hoop_op_t *ops[N_TAGS];
    const int64_t last = 17;
    int64_t plain = -1;

    /* The other way round than they are received: none waits for another. */
    for (unsigned i = 0; is_sender && i < N_TAGS; i++) {
        const struct tensor_message message = {
            .kind = HOOP_SEND,
            .tensor = &tensors[i],
            .peer = 1,
            .tag = tag_of_library_part(i / 3, numbers[i % 3]),
        };

        values[i][0] = i;
        tensors[i] = table(values[i]);
        SIDE_CHECK(tensor_message_start(&message, 1, side->comms, &ops[i]) ==
                   HOOP_OK);
    }
    if (is_sender) {
        SIDE_CHECK(hoop_send(&last, 1, HOOP_INT64, 1, (int64_t)1 << 62,
                             side->comms) == HOOP_OK);
        return hoop_wait_all(ops, N_TAGS, HOOP_FOREVER) != HOOP_OK;
    }
    SIDE_CHECK(hoop_recv(&plain, 1, HOOP_INT64, 0, (int64_t)1 << 62,
                         side->comms, NULL) == HOOP_OK);
    SIDE_CHECK(plain == 17);
    for (unsigned i = N_TAGS; i-- > 0;) {
        const struct hoop_tensor expected = table(values[i]);
        const struct tensor_message message = {
            .kind = HOOP_RECV,
            .tensor = &expected,
            .tag = tag_of_library_part(i / 3, numbers[i % 3]),
        };

        SIDE_CHECK(tensor_message_run(&message, 1, side->comms) == HOOP_OK);
        SIDE_CHECK(values[i][0] == i);
    }
    return 0;
}

/* One of two fails: neither hands out anything. */
static int
failed_batch_hands_out_nothing(struct side *side)
{
    int64_t values[4] = {0};
    struct hoop_tensor sent = table(values);
    struct hoop_tensor first = table(NULL);
    struct hoop_tensor second = table(NULL);
    const struct hoop_tensor_message sends[2] = {
        {HOOP_SEND, &sent, 1, 0, NULL}, {HOOP_SEND, &sent, 1, 1, NULL}};
    const struct hoop_tensor_message receives[2] = {
        {HOOP_RECV, &first, 0, 0, &first}, {HOOP_RECV, &second, 0, 1, &second}};

    second.dtype = HOOP_UINT64;
    if (side->rank == 0) {
        SIDE_CHECK(hoop_batch_tensors(sends, 2, side->comms) ==
                   HOOP_E_MISMATCH);
        return 0;
    }
    SIDE_CHECK(hoop_batch_tensors(receives, 2, side->comms) == HOOP_E_MISMATCH);
    SIDE_CHECK(!first.data && !second.data);
    return 0;
}

/* The library's own may say which of how many, and any shape of one dtype. */
static int
own_messages_compare_part_and_dtype(struct side *side)
{
    int64_t values[4] = {4, 3, 2, 1};
    struct hoop_tensor tensor = table(values);
    struct tensor_message message = {.tensor = &tensor,
                                     .peer = 1 - side->rank,
                                     .tag = tag_of_library_part(TAG_P2P, 9)};

    for (uint32_t i = 0; side->rank == 0 && i < 3; i++) {
        message.kind = HOOP_SEND;
        message.part = i < 2 ? frame_part_numbered(2, i) : 0;
        SIDE_CHECK(tensor_message_run(&message, 1, side->comms) ==
                   (i == 0 ? HOOP_OK : HOOP_E_MISMATCH));
    }
    if (side->rank == 0)
        return 0;
    message.kind = HOOP_RECV;
    message.part = frame_part_numbered(2, 0);
    SIDE_CHECK(tensor_message_run(&message, 1, side->comms) == HOOP_OK);
    message.part = frame_part_numbered(1, 0);
    SIDE_CHECK(tensor_message_run(&message, 1, side->comms) == HOOP_E_MISMATCH);
    SIDE_CHECK(strstr(hoop_error_text(), "number 2 of 2"));
    message.part = 0;
    message.has_dtype = true;
    message.received = &tensor;
    tensor = (struct hoop_tensor){.dtype = HOOP_FLOAT64,
                                  .shape = {.n_dims = HOOP_ANY_SHAPE}};
    SIDE_CHECK(tensor_message_run(&message, 1, side->comms) == HOOP_E_MISMATCH);
    SIDE_CHECK(strstr(hoop_error_text(), "of any shape #3 of float64"));
    SIDE_CHECK(!tensor.data && tensor.dtype == HOOP_FLOAT64);
    return 0;
}

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
tensor_p2p_wrong_arguments_are_invalid(void **state)
{
    static const size_t apart[1] = {2};
    float values[4] = {0};
    struct hoop_tensor tensor = row(values, 2);
    hoop_op_t *op = NULL;

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

    assert_ok(hoop_recv_tensor(&tensor, 9, -5, foreign(), &tensor));
    assert_ok(hoop_send_tensor(&tensor, 9, -5, foreign()));
    assert_ok(finish(
        hoop_recv_tensor_start(&tensor, 9, 0, foreign(), &tensor, &op), &op));
    assert_null(tensor.data);
}

/* Into the caller's memory, into hoop's, and in the _start forms. */
static int
tensors_are_exchanged(struct side *side)
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

/* The other rank has another dtype: what was allocated is taken back. */
static int
failed_receive_hands_out_nothing(struct side *side)
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

/* Before the send, after it, and to oneself; also nothing at all. */
static int
any_shape_is_received_and_allocated(struct side *side)
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

/* Rank 1 sends one of 2 times 3, or bytes; rank 0 expects something else. */
static int
what_does_not_fit_is_named(struct side *side)
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_PAIR_TEST(wrong_arguments_are_invalid),
        ENGINE_PAIR_TEST(empty_list_is_done),
        ENGINE_PAIR_TEST(no_member_gets_operations_that_are_done),
        SIDES_TEST(tensors_of_a_list_run_at_once),
        SIDES_TEST(tags_of_one_part_meet_no_others),
        SIDES_TEST(failed_batch_hands_out_nothing),
        SIDES_TEST(own_messages_compare_part_and_dtype),
        ENGINE_PAIR_TEST(tensor_p2p_wrong_arguments_are_invalid),
        ENGINE_PAIR_TEST(refused_receive_keeps_no_memory),
        ENGINE_PAIR_TEST(no_member_is_done_at_once),
        SIDES_TEST(tensors_are_exchanged),
        SIDES_TEST(failed_receive_hands_out_nothing),
        SIDES_TEST(any_shape_is_received_and_allocated),
        SIDES_TEST(what_does_not_fit_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
