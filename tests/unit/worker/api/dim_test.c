/* tests/unit/worker/api/dim_test.c - api/dim.c */

#include "engine_pair_api.h"

static const struct hoop_shape shape_232 = {3, {2, 3, 2}};
static int32_t values[24];

static void
wrong_arguments_are_invalid(void **state)
{
    int32_t result[24];
    const struct hoop_shape too_large = {2, {SIZE_MAX, 2}};
    const struct hoop_shape too_many = {.n_dims = 9};
    const struct hoop_shape scalar = {.n_dims = 0};
    hoop_op_t *op = NULL;

    assert_invalid(
        hoop_allgather_dim(values, result, &shape_232, 0, HOOP_INT32, NULL),
        "comm is NULL");
    assert_invalid(
        hoop_allgather_dim(values, result, NULL, 0, HOOP_INT32, both()),
        "shape is NULL");
    assert_invalid(
        hoop_allgather_dim(values, result, &too_many, 0, HOOP_INT32, both()),
        "9 dimensions");
    assert_invalid(
        hoop_allgather_dim(values, result, &scalar, -1, HOOP_INT32, both()),
        "no dim -1 in a tensor of 0 dimensions");
    assert_invalid(
        hoop_allgather_dim(values, result, &shape_232, -4, HOOP_INT32, both()),
        "no dim -4 in a tensor of 3 dimensions");
    assert_invalid(
        hoop_allgather_dim(values, result, &shape_232, 3, HOOP_INT32, both()),
        "no dim 3 in a tensor of 3 dimensions");
    assert_invalid(
        hoop_allgather_dim(values, result, &too_large, 1, HOOP_INT32, both()),
        "more than 2^63");
    assert_invalid(hoop_allgather_dim(values, values + 1, &shape_232, 1,
                                      HOOP_INT32, both()),
                   "overlap");
    assert_invalid(hoop_reduce_scatter_dim(values, result, &shape_232, 1,
                                           HOOP_INT32, HOOP_SUM, both()),
                   "3 elements along dim 1 cannot be cut into 2 equal parts");
    assert_invalid(hoop_reduce_scatter_dim(values, result, &shape_232, -2,
                                           HOOP_INT32, HOOP_SUM, both()),
                   "3 elements along dim -2 cannot be cut");
    assert_invalid(hoop_reduce_scatter_dim_start(values, result, &shape_232, 2,
                                                 HOOP_INT32, HOOP_SUM, both(),
                                                 NULL),
                   "out_op is NULL");
    assert_invalid(hoop_allgather_dim_start(values, result, &shape_232, 2,
                                            (enum hoop_dtype)77, both(), &op),
                   "dtype 77");
    assert_null(op);
}

static void
no_member_has_nothing_to_sort(void **state)
{
    int32_t result = 3;
    hoop_op_t *op = NULL;

    assert_ok(hoop_allgather_dim(values, &result, &shape_232, 1, HOOP_INT32,
                                 foreign()));
    assert_ok(finish(hoop_reduce_scatter_dim_start(values, &result, &shape_232,
                                                   1, HOOP_INT32, HOOP_SUM,
                                                   foreign(), &op),
                     &op));
    assert_int_equal(result, 3);
}

/* Element i of rank r's tensor is 100 r + i. */
static void
fill(int32_t *tensor, uint32_t rank)
{
    for (int32_t i = 0; i < 12; i++)
        tensor[i] = 100 * (int32_t)rank + i;
}

static int
shapes_that_differ_are_a_mismatch(struct side *side)
{
    const struct hoop_shape mine = {2, {2 + side->rank, 3 - side->rank}};
    int32_t result[12];

    SIDE_CHECK(hoop_allgather_dim(values, result, &mine, 1, HOOP_INT32,
                                  side->comms) == HOOP_E_MISMATCH);
    return 0;
}

static void
tensors_of_nothing_and_ranks_alone_work(void **state)
{
    const struct hoop_shape nothing = {3, {2, 0, 3}};
    int32_t result[12] = {0};

    assert_ok(hoop_allgather_dim(NULL, NULL, &nothing, 2, HOOP_INT32, alone()));
    fill(values, 1);
    assert_ok(
        hoop_allgather_dim(values, result, &shape_232, 1, HOOP_INT32, alone()));
    assert_true(values_are(result, values, 12));
}

/* However many rows there are: they are not walked. */
static int
rows_of_nothing_take_no_time(struct side *side)
{
    const struct hoop_shape nothing = {2, {INT64_MAX, 0}};

    SIDE_CHECK(hoop_allgather_dim(NULL, NULL, &nothing, 1, HOOP_INT32,
                                  side->comms) == HOOP_OK);
    SIDE_CHECK(hoop_reduce_scatter_dim(NULL, NULL, &nothing, 1, HOOP_INT32,
                                       HOOP_SUM, side->comms) == HOOP_OK);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_PAIR_TEST(wrong_arguments_are_invalid),
        ENGINE_PAIR_TEST(no_member_has_nothing_to_sort),
        SIDES_TEST(shapes_that_differ_are_a_mismatch),
        ENGINE_PAIR_TEST(tensors_of_nothing_and_ranks_alone_work),
        SIDES_TEST(rows_of_nothing_take_no_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
