/* tests/unit/worker/tensor_parallel/move_test.c - tensor_parallel/move.c */

#include "engine_pair_api.h"
#include "tensor_parallel/move.h"

/* 2 x 2 of rank r: 10 r + 0 .. 3. */
static struct hoop_tensor
square(int32_t *values, uint32_t rank)
{
    for (int32_t i = 0; i < 4; i++)
        values[i] = 10 * (int32_t)rank + i;
    return (struct hoop_tensor){
        .data = values, .dtype = HOOP_INT32, .shape = {2, {2, 2}}};
}

static enum hoop_status
run(enum move move,
    const struct hoop_tensor *tensor,
    struct hoop_tensor *out,
    hoop_comm_t *comm)
{
    return move_call_run((struct move_call){
        .move = move, .tensor = tensor, .out = out, .comm = comm});
}

static enum hoop_status
start(enum move move,
      const struct hoop_tensor *tensor,
      struct hoop_tensor *out,
      hoop_comm_t *comm,
      hoop_op_t **op)
{
    return move_call_start(
        (struct move_call){
            .move = move, .tensor = tensor, .out = out, .comm = comm},
        op);
}

static bool
is(const struct hoop_tensor *out, size_t n_rows, const int32_t *expected)
{
    const size_t n_columns = out->shape.dims[1];

    return out->shape.n_dims == 2 && out->shape.dims[0] == n_rows &&
           values_are(out->data, expected, n_rows * n_columns);
}

struct packed_case {
    enum move move;
    size_t n_rows;
    int32_t expected[2][8]; /* [rank] */
};

/* Those that sort, before or after. */
static const struct packed_case packed_cases[] = {
    {MOVE_GATHER_LAST,
     2,
     {{0, 1, 10, 11, 2, 3, 12, 13}, {0, 1, 10, 11, 2, 3, 12, 13}}},
    {MOVE_REDUCE_SCATTER_LAST, 2, {{10, 14}, {12, 16}}},
    {MOVE_ROWS_TO_COLUMNS, 4, {{0, 2, 10, 12}, {1, 3, 11, 13}}},
    {MOVE_COLUMNS_TO_ROWS, 1, {{0, 1, 10, 11}, {2, 3, 12, 13}}},
};

static int
moves_that_sort_give_the_same_in_both_forms(struct side *side)
{
    for (size_t i = 0; i < COUNT_OF(packed_cases); i++) {
        const struct packed_case *at = &packed_cases[i];
        struct hoop_tensor out = {.data = NULL};
        hoop_op_t *op = NULL;
        int32_t values[4];
        const struct hoop_tensor tensor = square(values, side->rank);

        SIDE_CHECK(run(at->move, &tensor, &out, side->comms) == HOOP_OK);
        SIDE_CHECK(is(&out, at->n_rows, at->expected[side->rank]));
        memset(out.data, 0xff, at->n_rows * sizeof(int32_t));
        SIDE_CHECK(finish(start(at->move, &tensor, &out, side->comms, &op),
                          &op) == HOOP_OK);
        SIDE_CHECK(is(&out, at->n_rows, at->expected[side->rank]));
        hoop_tensor_free(&out);
    }
    return 0;
}

static int
moves_that_keep_the_shape_work_in_place(struct side *side)
{
    static const int32_t sums[4] = {10, 12, 14, 16};
    hoop_op_t *op = NULL;
    int32_t values[4];
    struct hoop_tensor tensor = square(values, side->rank);

    /* Also as the very same tensor. */
    SIDE_CHECK(run(MOVE_ALL_REDUCE, &tensor, &tensor, side->comms) == HOOP_OK);
    SIDE_CHECK(is(&tensor, 2, sums));
    tensor = square(values, side->rank);
    struct hoop_tensor out = tensor;
    SIDE_CHECK(finish(start(MOVE_ALL_REDUCE, &tensor, &out, side->comms, &op),
                      &op) == HOOP_OK);
    SIDE_CHECK(is(&tensor, 2, sums));
    SIDE_CHECK(run(MOVE_COPY, &tensor, &out, side->comms) == HOOP_OK);
    SIDE_CHECK(is(&tensor, 2, sums));
    return 0;
}

static void
moves_of_one_rank_copy(void **state)
{
    hoop_op_t *op = NULL;
    int32_t values[4];
    const struct hoop_tensor tensor = square(values, 1);

    for (enum move move = MOVE_COPY; move <= MOVE_COLUMNS_TO_ROWS; move++) {
        struct hoop_tensor out = {.data = NULL};

        assert_ok(run(move, &tensor, &out, alone()));
        assert_ptr_not_equal(out.data, values);
        assert_true(is(&out, 2, values));
        hoop_tensor_free(&out);
        assert_ok(finish(start(move, &tensor, &out, alone(), &op), &op));
        assert_true(is(&out, 2, values));
        hoop_tensor_free(&out);
    }
}

static void
results_of_one_rank_must_not_overlap(void **state)
{
    hoop_op_t *op = NULL;
    int32_t values[5] = {1, 2, 3, 4, 5};
    const struct hoop_tensor tensor = {
        .data = values, .dtype = HOOP_INT32, .shape = {2, {2, 2}}};
    struct hoop_tensor out = {
        .data = values + 1, .dtype = HOOP_INT32, .shape = {2, {2, 2}}};

    assert_invalid(run(MOVE_ALL_REDUCE, &tensor, &out, alone()), "overlap");
    assert_invalid(start(MOVE_ALL_REDUCE, &tensor, &out, alone(), &op),
                   "overlap");
    assert_int_equal(values[2], 3);
}

static void
moves_of_no_member_touch_nothing(void **state)
{
    hoop_op_t *op = NULL;
    int32_t values[4];
    const struct hoop_tensor tensor = square(values, 0);

    for (enum move move = MOVE_COPY; move <= MOVE_COLUMNS_TO_ROWS; move++) {
        struct hoop_tensor out = {.data = NULL};

        assert_ok(run(move, &tensor, &out, foreign()));
        assert_ok(finish(start(move, &tensor, &out, foreign(), &op), &op));
        assert_null(out.data);
    }
}

static void
wrong_arguments_are_invalid_and_hand_out_nothing(void **state)
{
    const size_t strides[2] = {1, 2};
    struct hoop_tensor out = {.data = NULL};
    hoop_op_t *op = NULL;
    int32_t values[4];
    struct hoop_tensor tensor = square(values, 0);

    assert_invalid(run(MOVE_ALL_REDUCE, &tensor, &out, NULL), "comm is NULL");
    assert_invalid(run(MOVE_ALL_REDUCE, NULL, &out, both()),
                   "the tensor is NULL");
    assert_invalid(run(MOVE_ALL_REDUCE, &tensor, NULL, both()), "out is NULL");
    assert_invalid(start(MOVE_ALL_REDUCE, &tensor, &out, both(), NULL),
                   "out_op is NULL");
    tensor.strides = strides;
    assert_invalid(run(MOVE_ALL_REDUCE, &tensor, &out, both()),
                   "hoop_tensor_copy()");
    assert_invalid(run(MOVE_SPLIT_LAST, &tensor, &out, both()),
                   "hoop_tensor_copy()");
    tensor.strides = NULL;
    tensor.dtype = (enum hoop_dtype)77;
    assert_invalid(start(MOVE_GATHER_LAST, &tensor, &out, both(), &op),
                   "dtype 77");
    tensor.dtype = HOOP_INT32;
    tensor.data = NULL;
    assert_invalid(run(MOVE_GATHER_LAST, &tensor, &out, both()), "no data");
    assert_null(out.data);
    assert_null(op);
}

static void
results_too_large_for_memory_are_refused(void **state)
{
    const size_t n = (size_t)1 << 57;
    int32_t value = 0;
    const struct hoop_tensor tensor = {
        .data = &value, .dtype = HOOP_INT32, .shape = {1, {n}}};
    struct hoop_tensor out = {.data = NULL};
    hoop_op_t *op = NULL;

    assert_int_equal(run(MOVE_GATHER_FIRST, &tensor, &out, both()),
                     HOOP_E_EXHAUSTED);
    assert_int_equal(start(MOVE_SPLIT_LAST, &tensor, &out, both(), &op),
                     HOOP_E_EXHAUSTED);
    assert_null(out.data);
    assert_null(op);
}

/* Rank 1 has another shape of as many elements. */
static int
moves_of_other_shapes_fail_on_both_and_hand_out_nothing(struct side *side)
{
    struct hoop_tensor out = {.data = NULL};
    int32_t values[4];
    struct hoop_tensor tensor = square(values, side->rank);

    if (side->rank == 1)
        tensor.shape = (struct hoop_shape){2, {1, 4}};
    SIDE_CHECK(run(MOVE_ALL_REDUCE, &tensor, &out, side->comms) ==
               HOOP_E_MISMATCH);
    SIDE_CHECK(strstr(hoop_error_text(), "other counts, shapes or layouts"));
    SIDE_CHECK(!out.data && out.shape.n_dims == 0);
    return 0;
}

static int
moves_into_a_scratch_use_it_in_turn(struct side *side)
{
    struct hoop_tensor first = {.data = NULL};
    struct hoop_tensor second = {.data = NULL};
    hoop_scratch_t *scratch = NULL;
    hoop_op_t *op = NULL;
    int32_t values[4];
    const struct hoop_tensor tensor = square(values, side->rank);
    struct move_call call = {
        .move = MOVE_GATHER_FIRST, .tensor = &tensor, .comm = side->comms};

    SIDE_CHECK(hoop_scratch_create(&scratch) == HOOP_OK);
    call.scratch = scratch;
    call.out = &first;
    SIDE_CHECK(move_call_start(call, &op) == HOOP_OK);
    call.out = &second;
    /* Until it has been waited for. */
    SIDE_CHECK(move_call_run(call) == HOOP_E_PRECONDITION && !second.data);
    SIDE_CHECK(hoop_wait(op, 20000) == HOOP_OK);
    SIDE_CHECK(move_call_run(call) == HOOP_OK);
    SIDE_CHECK(second.data == first.data && second.shape.dims[0] == 4);
    /* What stays here is in it as well, and needs no wait. */
    second.data = NULL;
    call.move = MOVE_SPLIT_FIRST;
    SIDE_CHECK(move_call_start(call, &op) == HOOP_OK);
    SIDE_CHECK(second.data == first.data);
    SIDE_CHECK(values_are(second.data, values + 2 * side->rank, 2));
    call.tensor = &second;
    call.out = &(struct hoop_tensor){.data = NULL};
    SIDE_CHECK(move_call_run(call) == HOOP_E_INVALID);
    SIDE_CHECK(hoop_wait(op, 20000) == HOOP_OK);
    hoop_scratch_free(scratch);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SIDES_TEST(moves_that_sort_give_the_same_in_both_forms),
        SIDES_TEST(moves_that_keep_the_shape_work_in_place),
        ENGINE_PAIR_TEST(moves_of_one_rank_copy),
        ENGINE_PAIR_TEST(results_of_one_rank_must_not_overlap),
        ENGINE_PAIR_TEST(moves_of_no_member_touch_nothing),
        ENGINE_PAIR_TEST(wrong_arguments_are_invalid_and_hand_out_nothing),
        ENGINE_PAIR_TEST(results_too_large_for_memory_are_refused),
        SIDES_TEST(moves_of_other_shapes_fail_on_both_and_hand_out_nothing),
        SIDES_TEST(moves_into_a_scratch_use_it_in_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
