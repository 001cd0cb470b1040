/* tests/unit/worker/engine/receive_mismatch_test.c - engine/failure/mismatch.c */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "engine_pair_fixture.h"

enum {
    LARGE = 2 * LIMIT_EAGER_WHOLE_MESSAGE, /* bytes: not sent without a grant */
};

#define ANY_DTYPE ((enum hoop_dtype)UINT8_MAX)

/* What one side says of a message; no shape: bytes. */
struct half {
    bool is_tensor;
    struct hoop_tensor tensor;
    uint32_t part;
    const char *text;
};

static const struct {
    struct half sent;
    struct half expected;
} cases[] = {
    {{true, {NULL, HOOP_INT8, {2, {4, 8}}, NULL}, 0, "(int8 [4, 8])"},
     {true, {NULL, HOOP_INT8, {2, {8, 4}}, NULL}, 0, "(int8 [8, 4])"}},
    {{true, {NULL, HOOP_INT8, {1, {4}}, NULL}, 0, "(int8 [4])"},
     {true, {NULL, HOOP_INT8, {2, {4, 1}}, NULL}, 0, "(int8 [4, 1])"}},
    {{true, {NULL, HOOP_INT8, {1, {0}}, NULL}, 0, "(int8 [0])"},
     {true, {NULL, HOOP_INT8, {2, {0, 3}}, NULL}, 0, "(int8 [0, 3])"}},
    {{true, {NULL, HOOP_INT8, {0, {0}}, NULL}, 0, "(int8 [])"},
     {true, {NULL, HOOP_UINT8, {0, {0}}, NULL}, 0, "(uint8 [])"}},
    {{true, {NULL, HOOP_INT8, {1, {4}}, NULL}, 2 << 16, "number 1 of 2"},
     {true, {NULL, HOOP_INT8, {1, {4}}, NULL}, 1 << 16, "number 1 of 1"}},
    {{true, {NULL, HOOP_INT8, {1, {4}}, NULL}, 0, "send_tensor"},
     {false, {NULL, HOOP_INT8, {1, {4}}, NULL}, 0, "recv"}},
    {{false, {NULL, HOOP_INT8, {1, {4}}, NULL}, 0, "send"},
     {true, {NULL, HOOP_INT8, {1, {4}}, NULL}, 0, "recv_tensor"}},
    {{false, {NULL, HOOP_INT8, {1, {4}}, NULL}, 0, "send"},
     {true, {NULL, ANY_DTYPE, {HOOP_ANY_SHAPE, {0}}, NULL}, 0, "of any shape"}},
    {{true,
      {NULL, HOOP_INT8, {1, {4}}, NULL},
      1 << 16 | 0x8002,
      "number 2 of 2"},
     {true, {NULL, ANY_DTYPE, {HOOP_ANY_SHAPE, {0}}, NULL}, 0, "of any shape"}},
    {{true, {NULL, HOOP_INT16, {1, {4}}, NULL}, 0, "(int16 [4])"},
     {true, {NULL, HOOP_BOOL, {HOOP_ANY_SHAPE, {0}}, NULL}, 0, "of bool"}},
    {{true, {NULL, (enum hoop_dtype)120, {0, {0}}, NULL}, 0, "unknown"},
     {true, {NULL, ANY_DTYPE, {HOOP_ANY_SHAPE, {0}}, NULL}, 0, "of any shape"}},
    {{true, {NULL, HOOP_INT8, {2, {2, LARGE}}, NULL}, 0, "[2, 524288]"},
     {true, {NULL, HOOP_INT8, {2, {LARGE, 2}}, NULL}, 0, "[524288, 2]"}},
    {{true, {NULL, HOOP_INT8, {1, {LARGE}}, NULL}, 0, "send_tensor"},
     {false, {NULL, HOOP_INT8, {1, {LARGE}}, NULL}, 0, "recv"}},
};

static size_t
count_of(const struct hoop_shape *shape)
{
    size_t count = 1;

    for (uint32_t i = 0; i < shape->n_dims; i++)
        count *= shape->dims[i];
    return count;
}

static struct engine_message
message_of(const struct half *half, struct hoop_tensor *tensor, uint64_t tag)
{
    const bool is_any = half->tensor.shape.n_dims == HOOP_ANY_SHAPE;

    *tensor = half->tensor;
    return (struct engine_message){
        .call = {.dtype = tensor->dtype,
                 .count = is_any ? 0 : count_of(&tensor->shape)},
        .tag = tag,
        .tensor = half->is_tensor ? tensor : NULL,
        .part = half->part,
        .mode = ENGINE_START_AND_WAIT,
    };
}

static enum hoop_status
run(struct comm_context *context, const struct engine_message *message)
{
    struct op *op = NULL;
    const enum hoop_status status =
        engine_start_messages(context, message, 1, &op);

    return status == HOOP_OK ? engine_wait(op, patience()) : status;
}

static enum hoop_status
receive(struct side *side, size_t i)
{
    static uint8_t room[2 * LARGE];
    const struct half *half = &cases[i].expected;
    struct hoop_tensor tensor;
    struct engine_message message = message_of(half, &tensor, i);

    message.call.name = CALL_RECV_TENSOR;
    if (!half->is_tensor)
        message.call.name = CALL_RECV;
    else if (tensor.shape.n_dims == HOOP_ANY_SHAPE)
        message.call.name = CALL_RECV_ANY_TENSOR;
    message.peer = 1 - side->rank;
    message.bytes = tensor.shape.n_dims == HOOP_ANY_SHAPE ? NULL : room;
    memset(room, 9, sizeof(room));
    const enum hoop_status status = run(side->comms[0].context, &message);
    for (size_t k = 0; k < sizeof(room); k++) {
        if (room[k] != 9)
            return HOOP_E_DATA_LOSS;
    }
    return status;
}

static enum hoop_status
send_one(struct side *side, size_t i)
{
    static uint8_t bytes[2 * LARGE];
    struct hoop_tensor tensor;
    struct engine_message message = message_of(&cases[i].sent, &tensor, i);

    message.call.name = cases[i].sent.is_tensor ? CALL_SEND_TENSOR : CALL_SEND;
    message.peer = 1 - side->rank;
    message.bytes = bytes;
    return run(side->comms[0].context, &message);
}

static bool
names_both(size_t i)
{
    return strstr(error_text(), cases[i].sent.text) &&
           strstr(error_text(), cases[i].expected.text) &&
           strstr(error_text(), "rank 0 (host:40) called recv") &&
           strstr(error_text(), "rank 1 (host:41) called send");
}

/* A tensor's send waits for that. A small one of bytes has returned: no other call
 * tells of it. */
static int
side_unfit(struct side *side)
{
    uint8_t byte = 5;
    struct op *op = NULL;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        enum hoop_status status;

        if (side->rank == 0) {
            SIDE_CHECK(receive(side, i) == HOOP_E_MISMATCH);
            SIDE_CHECK(names_both(i));
            /* The pair goes on. */
            SIDE_CHECK(send_start(side->comms[0].context, &byte, 1, 99, &op) ==
                       HOOP_OK);
            SIDE_CHECK(engine_wait(op, patience()) == HOOP_OK);
            continue;
        }
        status = send_one(side, i);
        SIDE_CHECK(status == HOOP_E_MISMATCH || !cases[i].sent.is_tensor);
        if (status != HOOP_OK)
            SIDE_CHECK(status == HOOP_E_MISMATCH && names_both(i));
        SIDE_CHECK(receive_start(side->comms[0].context, &byte, 1, 99, &op) ==
                   HOOP_OK);
        SIDE_CHECK(engine_wait(op, patience()) == HOOP_OK);
        SIDE_CHECK(byte == 5);
    }
    return 0;
}

static void
what_is_not_expected_is_told_to_both(void **state)
{
    (void)state;
    engine_pair_run(&engine_pair, side_unfit);
}

enum {
    RECEIVE_ALLOCATION_LARGE = 1 << 20, /* far more than goes unasked */
};

static enum hoop_status
tensor_send(struct comm_context *context,
            struct hoop_tensor *tensor,
            size_t count)
{
    const struct engine_message message = {
        .call = {.name = CALL_SEND_TENSOR,
                 .dtype = tensor->dtype,
                 .count = count},
        .peer = 1 - context_rank(context),
        .bytes = tensor->data,
        .tensor = tensor,
        .mode = ENGINE_START_AND_WAIT,
    };
    struct op *op = NULL;
    const enum hoop_status status =
        engine_start_messages(context, &message, 1, &op);

    return status == HOOP_OK ? engine_wait(op, patience()) : status;
}

static enum hoop_status
any_start(struct comm_context *context,
          struct hoop_tensor *out,
          struct op **out_op)
{
    const struct engine_message message = {
        .call = {.name = CALL_RECV_ANY_TENSOR,
                 .dtype = (enum hoop_dtype)FRAME_ANY_DTYPE},
        .peer = 1 - context_rank(context),
        .tensor = out,
        .out = out,
        .is_owned = true,
    };

    out->data = NULL;
    out->shape.n_dims = HOOP_ANY_SHAPE;
    return engine_start_messages(context, &message, 1, out_op);
}

static int
side_large(struct side *side)
{
    struct comm_context *context = side->comms[0].context;
    struct hoop_tensor tensor = {.dtype = HOOP_INT16,
                                 .shape = {1, {RECEIVE_ALLOCATION_LARGE}}};
    struct op *op = NULL;

    if (side->rank == 1) {
        int16_t *values = calloc(RECEIVE_ALLOCATION_LARGE, sizeof(*values));

        SIDE_CHECK(values);
        values[RECEIVE_ALLOCATION_LARGE - 1] = 77;
        tensor.data = values;
        SIDE_CHECK(tensor_send(context, &tensor, RECEIVE_ALLOCATION_LARGE) ==
                   HOOP_OK);
        free(values);
        return 0;
    }
    SIDE_CHECK(any_start(context, &tensor, &op) == HOOP_OK);
    SIDE_CHECK(engine_wait(op, patience()) == HOOP_OK);
    SIDE_CHECK(tensor.dtype == HOOP_INT16 && tensor.shape.n_dims == 1 &&
               tensor.shape.dims[0] == RECEIVE_ALLOCATION_LARGE);
    SIDE_CHECK(((int16_t *)tensor.data)[RECEIVE_ALLOCATION_LARGE - 1] == 77);
    SIDE_CHECK((uintptr_t)tensor.data % 64 == 0);
    free(tensor.data);
    return 0;
}

static void
any_shape_gets_memory_of_its_size(void **state)
{
    (void)state;
    engine_pair_run(&engine_pair, side_large);
}

/* Nothing comes, or its sender goes: what was NULL is NULL. */
static void
ended_receive_hands_out_nothing(void **state)
{
    struct comm_context *context = engine_pair.sides[0].comms[0].context;
    struct hoop_tensor tensor = {.dtype = HOOP_BOOL};
    struct op *op = NULL;

    (void)state;
    context_set_timeout(context, 20);
    assert_int_equal(any_start(context, &tensor, &op), HOOP_OK);
    assert_int_equal(engine_wait(op, patience()), HOOP_E_TIMEOUT);
    assert_non_null(strstr(error_text(), "recv_tensor of any shape"));
    assert_null(tensor.data);
    context_set_timeout(context, 20000);
    assert_int_equal(any_start(context, &tensor, &op), HOOP_OK);
    engine_shutdown(engine_pair.sides[1].engine, 0);
    assert_int_equal(engine_wait(op, patience()), HOOP_E_PEER_LOST);
    assert_null(tensor.data);
    assert_int_equal(tensor.dtype, HOOP_BOOL);
}

/* The sender says so, and has begun to send; it never gets further. */
static int
side_enormous(struct side *side)
{
    static uint8_t bytes[LIMIT_EAGER_MESSAGE];
    struct comm_context *context = side->comms[0].context;
    const size_t count = (size_t)LIMIT_TENSOR + 1;
    struct hoop_tensor tensor = {bytes, HOOP_UINT8, {1, {count}}, NULL};
    struct op *op = NULL;

    if (side->rank == 1) {
        SIDE_CHECK(tensor_send(context, &tensor, count) == HOOP_E_EXHAUSTED);
    } else {
        SIDE_CHECK(any_start(context, &tensor, &op) == HOOP_OK);
        SIDE_CHECK(engine_wait(op, patience()) == HOOP_E_EXHAUSTED);
        SIDE_CHECK(!tensor.data);
    }
    SIDE_CHECK(error_failure_details()->rank == 0);
    SIDE_CHECK(strstr(error_text(), "rank 0 (host:40) has no room"));
    SIDE_CHECK(strstr(error_text(), "uint8 [1099511627777]"));
    SIDE_CHECK(strstr(error_text(), "2^40"));
    return 0;
}

static void
more_than_the_limit_is_told_to_both(void **state)
{
    (void)state;
    engine_pair_run(&engine_pair, side_enormous);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_PAIR_TEST(what_is_not_expected_is_told_to_both),
        ENGINE_PAIR_TEST(any_shape_gets_memory_of_its_size),
        ENGINE_PAIR_TEST(ended_receive_hands_out_nothing),
        ENGINE_PAIR_TEST(more_than_the_limit_is_told_to_both),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
