/* tests/unit/worker/pipeline/pipeline_test.c - pipeline/pipeline.c */

#include "hoop/pipeline.h"

#include "engine_pair_api.h"

static void
wrong_arguments_are_invalid(void **state)
{
    hoop_pipeline_t *pipeline = NULL;

    assert_invalid(hoop_pipeline_create(NULL, NULL, &pipeline),
                   "stages is NULL");
    assert_invalid(hoop_pipeline_create(both(), NULL, NULL),
                   "out_pipeline is NULL");
    assert_null(pipeline);
    assert_invalid(hoop_pipeline_set_chunk(NULL, 0, 1), "pipeline is NULL");
    hoop_pipeline_free(NULL);
}

static void
neighbours_wrap_around(void **state)
{
    hoop_pipeline_t *pipeline = NULL;

    for (uint32_t rank = 0; rank < 2; rank++) {
        hoop_comm_t *comm = &engine_pair.sides[rank].comms[0];

        assert_ok(hoop_pipeline_create(comm, NULL, &pipeline));
        assert_ptr_equal(hoop_pipeline_comm(pipeline), comm);
        assert_int_equal(hoop_pipeline_stage(pipeline), rank);
        assert_int_equal(hoop_pipeline_size(pipeline), 2);
        assert_int_equal(hoop_pipeline_next(pipeline), 1 - rank);
        assert_int_equal(hoop_pipeline_prev(pipeline), 1 - rank);
        assert_int_equal(hoop_pipeline_is_first(pipeline), rank == 0);
        assert_int_equal(hoop_pipeline_is_last(pipeline), rank == 1);
        hoop_pipeline_free(pipeline);
    }
}

static void
stage_alone_is_first_and_last(void **state)
{
    hoop_pipeline_t *pipeline = NULL;

    assert_ok(hoop_pipeline_create(alone(), NULL, &pipeline));
    assert_int_equal(hoop_pipeline_next(pipeline), 0);
    assert_int_equal(hoop_pipeline_prev(pipeline), 0);
    assert_true(hoop_pipeline_is_first(pipeline));
    assert_true(hoop_pipeline_is_last(pipeline));
    hoop_pipeline_free(pipeline);
}

/* First only as chunk 0, last only as the last one. */
static void
chunk_decides_who_is_first_and_last(void **state)
{
    hoop_pipeline_t *pipeline = NULL;

    assert_ok(hoop_pipeline_create(alone(), NULL, &pipeline));
    for (uint32_t chunk = 0; chunk < 3; chunk++) {
        assert_ok(hoop_pipeline_set_chunk(pipeline, chunk, 3));
        assert_int_equal(hoop_pipeline_is_first(pipeline), chunk == 0);
        assert_int_equal(hoop_pipeline_is_last(pipeline), chunk == 2);
    }
    assert_invalid(hoop_pipeline_set_chunk(pipeline, 3, 3),
                   "chunk 3 is not below the number of chunks, 3");
    assert_true(hoop_pipeline_is_last(pipeline));
    hoop_pipeline_free(pipeline);
}

static void
no_member_has_no_stage(void **state)
{
    hoop_pipeline_t *pipeline = NULL;

    assert_ok(hoop_pipeline_create(foreign(), NULL, &pipeline));
    assert_int_equal(hoop_pipeline_stage(pipeline), HOOP_NO_RANK);
    assert_int_equal(hoop_pipeline_size(pipeline), 0);
    assert_int_equal(hoop_pipeline_next(pipeline), HOOP_NO_RANK);
    assert_int_equal(hoop_pipeline_prev(pipeline), HOOP_NO_RANK);
    assert_false(hoop_pipeline_is_first(pipeline));
    assert_false(hoop_pipeline_is_last(pipeline));
    hoop_pipeline_free(pipeline);
}

/* What is refused before anything moves; tests/integration moves. */

static hoop_pipeline_t *pipeline; /* of both; rank 0 is the first stage */
static hoop_pipeline_t *strange;  /* this process is no member */
static int32_t value;

static int
set_up(void **state)
{
    return engine_pair_set_up(state) == 0 &&
                   hoop_pipeline_create(both(), both(), &pipeline) == HOOP_OK &&
                   hoop_pipeline_create(foreign(), NULL, &strange) == HOOP_OK
               ? 0
               : -1;
}

static int
tear_down(void **state)
{
    hoop_pipeline_free(pipeline);
    hoop_pipeline_free(strange);
    return engine_pair_tear_down(state);
}

static struct hoop_tensor
one(void)
{
    return (struct hoop_tensor){
        .data = &value,
        .dtype = HOOP_INT32,
        .shape = {1, {1}},
    };
}

static void
null_is_invalid(void **state)
{
    struct hoop_tensor tensor = one();
    struct hoop_tensors list = {1, &tensor, &tensor, 0};
    const struct hoop_pipe_exchange none = {0};

    assert_invalid(hoop_pipe_recv_forward(NULL, &list, NULL),
                   "pipeline is NULL");
    assert_invalid(hoop_pipe_exchange_all(pipeline, NULL, NULL),
                   "exchange is NULL");
    assert_invalid(hoop_pipe_exchange_all(NULL, &none, NULL),
                   "pipeline is NULL");
    assert_invalid(hoop_pipe_send_forward(pipeline, NULL, NULL),
                   "output is NULL");
    assert_invalid(hoop_pipe_recv_backward(pipeline, NULL, NULL),
                   "output_grad is NULL");
    assert_invalid(
        hoop_pipe_send_forward_recv_backward(pipeline, NULL, &list, NULL),
        "output is NULL");
    assert_invalid(
        hoop_pipe_send_forward(pipeline,
                               &(struct hoop_tensors){2, NULL, NULL, 0}, NULL),
        "output has 2 tensors at NULL");
    assert_ok(hoop_pipeline_set_chunk(pipeline, 1, 3));
    assert_invalid(hoop_pipe_recv_forward(pipeline, NULL, NULL),
                   "input is NULL");
    assert_invalid(hoop_pipe_send_backward(pipeline, NULL, NULL),
                   "input_grad is NULL");
    assert_invalid(
        hoop_pipe_send_backward_recv_forward(pipeline, NULL, &list, NULL),
        "input_grad is NULL");
}

static void
wrong_options_are_invalid(void **state)
{
    const uint32_t far = 2;
    struct hoop_tensor tensor = one();
    struct hoop_tensors list = {1, &tensor, &tensor, 0};
    const struct {
        struct hoop_pipe_options options;
        const char *text;
    } cases[] = {
        {{.prev = &far}, "prev is rank 2, but the pipeline has 2 stages"},
        {{.next = &far}, "next is rank 2, but the pipeline has 2 stages"},
        {{.lane = 1 << 24}, "lane 16777216 is not below 16777216"},
        {{.flags = 6}, "flags 0x6 are not known"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_invalid(
            hoop_pipe_send_forward(pipeline, &list, &cases[i].options),
            cases[i].text);
        /* Also of a stage that has no part in it. */
        assert_invalid(
            hoop_pipe_recv_forward(pipeline, &list, &cases[i].options),
            cases[i].text);
        assert_int_equal(list.n_tensors, 1);
    }
}

static void
wrong_tensors_are_invalid(void **state)
{
    static const size_t strides[] = {1, 2};
    struct hoop_tensor tensors[] = {one(), one()};
    struct hoop_tensors list = {2, tensors, tensors, 0};
    const struct hoop_pipe_options shares = {.flags = HOOP_PIPE_SCATTER_GATHER};
    struct hoop_tensor *wrong = &tensors[1];

    wrong->data = NULL;
    assert_invalid(hoop_pipe_send_forward(pipeline, &list, NULL), "output[1]");
    *wrong = one();
    wrong->dtype = 99;
    assert_invalid(hoop_pipe_send_forward(pipeline, &list, NULL), "output[1]");
    assert_invalid(hoop_pipe_recv_backward(pipeline, &list, NULL), "dtype 99");
    *wrong = one();
    wrong->shape.n_dims = HOOP_MAX_DIMS + 1;
    assert_invalid(hoop_pipe_recv_backward(pipeline, &list, NULL), "9");
    wrong->shape = (struct hoop_shape){2, {2, 3}};
    wrong->strides = strides;
    assert_invalid(hoop_pipe_send_forward(pipeline, &list, NULL),
                   "output[1] does not lie dense");
    *wrong = one();
    wrong->shape.n_dims = HOOP_ANY_SHAPE;
    assert_invalid(hoop_pipe_send_forward(pipeline, &list, NULL), "");
    assert_invalid(hoop_pipe_recv_backward(pipeline, &list, NULL),
                   "data must be NULL");
    wrong->data = NULL;
    assert_invalid(hoop_pipe_recv_backward(pipeline, &list, &shares),
                   "say the shape");
}

/* What was given memory before the last was found wrong has none again. */
static void
refused_receive_hands_out_nothing(void **state)
{
    struct hoop_tensor tensors[] = {one(), one()};
    struct hoop_tensors list = {2, tensors, tensors, 0};

    tensors[0].data = NULL;
    tensors[1].dtype = 99;
    assert_invalid(hoop_pipe_recv_backward(pipeline, &list, NULL), "dtype 99");
    assert_null(tensors[0].data);
    assert_int_equal(list.n_tensors, 2);
}

static void
too_long_a_list_is_invalid(void **state)
{
    struct hoop_tensor tensor = one();

    assert_invalid(
        hoop_pipe_send_forward(
            pipeline, &(struct hoop_tensors){32768, &tensor, &tensor, 0}, NULL),
        "a list at most 32767");
}

/* Of the first stage, and of a process that is none. */
static void
nothing_is_received_from_nobody(void **state)
{
    struct hoop_tensor tensor = one();
    struct hoop_tensors list = {1, &tensor, &tensor, 0};

    assert_ok(hoop_pipe_send_backward(pipeline, NULL, NULL));
    assert_ok(
        hoop_pipe_send_backward_recv_forward(pipeline, NULL, &list, NULL));
    assert_int_equal(list.n_received, 0);
    list.n_tensors = 1;
    assert_ok(hoop_pipe_recv_forward(strange, &list, NULL));
    assert_ok(hoop_pipe_send_forward(strange, &list, NULL));
    assert_int_equal(list.n_tensors, 1);
    assert_ptr_equal(tensor.data, &value);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_PAIR_TEST(wrong_arguments_are_invalid),
        ENGINE_PAIR_TEST(neighbours_wrap_around),
        ENGINE_PAIR_TEST(stage_alone_is_first_and_last),
        ENGINE_PAIR_TEST(chunk_decides_who_is_first_and_last),
        ENGINE_PAIR_TEST(no_member_has_no_stage),
        cmocka_unit_test_setup_teardown(null_is_invalid, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_options_are_invalid, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(wrong_tensors_are_invalid, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(refused_receive_hands_out_nothing,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_long_a_list_is_invalid, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_received_from_nobody, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
