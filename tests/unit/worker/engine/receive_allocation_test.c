/* tests/unit/worker/engine/receive_allocation_test.c - engine/message_op.c */

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "couple_scene.h"

enum {
    LARGE = 1 << 20, /* far more than goes unasked */
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
    struct hoop_tensor tensor = {.dtype = HOOP_INT16, .shape = {1, {LARGE}}};
    struct op *op = NULL;

    if (side->rank == 1) {
        int16_t *values = calloc(LARGE, sizeof(*values));

        SIDE_CHECK(values);
        values[LARGE - 1] = 77;
        tensor.data = values;
        SIDE_CHECK(tensor_send(context, &tensor, LARGE) == HOOP_OK);
        free(values);
        return 0;
    }
    SIDE_CHECK(any_start(context, &tensor, &op) == HOOP_OK);
    SIDE_CHECK(engine_wait(op, patience()) == HOOP_OK);
    SIDE_CHECK(tensor.dtype == HOOP_INT16 && tensor.shape.n_dims == 1 &&
               tensor.shape.dims[0] == LARGE);
    SIDE_CHECK(((int16_t *)tensor.data)[LARGE - 1] == 77);
    SIDE_CHECK((uintptr_t)tensor.data % 64 == 0);
    free(tensor.data);
    return 0;
}

static void
any_shape_gets_memory_of_its_size(void **state)
{
    (void)state;
    couple_run(&couple, side_large);
}

/* Nothing comes, or its sender goes: what was NULL is NULL. */
static void
ended_receive_hands_out_nothing(void **state)
{
    struct comm_context *context = couple.sides[0].comms[0].context;
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
    engine_shutdown(couple.sides[1].engine, 0);
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
    SIDE_CHECK(strstr(error_text(), "rank 0 (host:40) has no room"));
    SIDE_CHECK(strstr(error_text(), "uint8 [1099511627777]"));
    SIDE_CHECK(strstr(error_text(), "2^40"));
    return 0;
}

static void
more_than_the_limit_is_told_to_both(void **state)
{
    (void)state;
    couple_run(&couple, side_enormous);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(any_shape_gets_memory_of_its_size),
        COUPLE_TEST(ended_receive_hands_out_nothing),
        COUPLE_TEST(more_than_the_limit_is_told_to_both),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
