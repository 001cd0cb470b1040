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

    (void)state;
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

    (void)state;
    assert_int_equal(hoop_allgather_dim(values, &result, &shape_232, 1,
                                        HOOP_INT32, foreign()),
                     HOOP_OK);
    assert_int_equal(finish(hoop_reduce_scatter_dim_start(
                                values, &result, &shape_232, 1, HOOP_INT32,
                                HOOP_SUM, foreign(), &op),
                            &op),
                     HOOP_OK);
    assert_int_equal(result, 3);
}

/* Element i of rank r's tensor is 100 r + i. */
static void
fill(int32_t *tensor, uint32_t rank)
{
    for (int32_t i = 0; i < 12; i++)
        tensor[i] = 100 * (int32_t)rank + i;
}

/* The element of the concatenation along dim, from the definition. */
static int32_t
gathered(int32_t dim, size_t index)
{
    size_t sizes[3] = {2, 3, 2};
    size_t at[3];

    dim = dim < 0 ? dim + 3 : dim;
    sizes[dim] *= 2;
    at[2] = index % sizes[2];
    at[1] = index / sizes[2] % sizes[1];
    at[0] = index / sizes[2] / sizes[1];
    const size_t rank = at[dim] / shape_232.dims[dim];
    at[dim] %= shape_232.dims[dim];
    return (int32_t)(100 * rank + (at[0] * 3 + at[1]) * 2 + at[2]);
}

static int
tensors_are_joined_along_each_dim(struct side *side)
{
    int32_t mine[12];
    int32_t all[25];
    int32_t expected[24];
    hoop_op_t *op = NULL;

    fill(mine, side->rank);
    for (int32_t dim = -3; dim < 3; dim++) {
        for (size_t i = 0; i < 24; i++)
            expected[i] = gathered(dim, i);
        all[24] = -1;
        SIDE_CHECK(hoop_allgather_dim(mine, all, &shape_232, dim, HOOP_INT32,
                                      side->comms) == HOOP_OK);
        SIDE_CHECK(values_are(all, expected, 24) && all[24] == -1);
        /* In place: only what this rank gives. */
        for (size_t i = 0; i < 24; i++)
            all[i] =
                (uint32_t)expected[i] / 100 == side->rank ? expected[i] : -1;
        SIDE_CHECK(
            finish(hoop_allgather_dim_start(HOOP_IN_PLACE, all, &shape_232, dim,
                                            HOOP_INT32, side->comms, &op),
                   &op) == HOOP_OK);
        SIDE_CHECK(values_are(all, expected, 24) && all[24] == -1);
    }
    return 0;
}

static int
parts_are_cut_along_each_dim(struct side *side)
{
    const int32_t dims[4] = {0, 2, -3, -1};
    hoop_op_t *op = NULL;

    for (unsigned d = 0; d < 4; d++) {
        int32_t mine[12];
        int32_t part[7] = {[6] = -1};
        int32_t expected[6];

        fill(mine, side->rank);
        for (int32_t i = 0, n = 0; i < 12; i++) {
            const uint32_t at = d % 2 == 0 ? (uint32_t)i / 6 : (uint32_t)i % 2;
            if (at == side->rank)
                expected[n++] = 2 * i + 100;
        }
        SIDE_CHECK(hoop_reduce_scatter_dim(mine, part, &shape_232, dims[d],
                                           HOOP_INT32, HOOP_SUM,
                                           side->comms) == HOOP_OK);
        SIDE_CHECK(values_are(part, expected, 6) && part[6] == -1);
        SIDE_CHECK(finish(hoop_reduce_scatter_dim_start(
                              mine, HOOP_IN_PLACE, &shape_232, dims[d],
                              HOOP_INT32, HOOP_SUM, side->comms, &op),
                          &op) == HOOP_OK);
        SIDE_CHECK(values_are(mine, expected, 6));
        SIDE_CHECK(mine[11] == 100 * (int32_t)side->rank + 11);
    }
    return 0;
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

    (void)state;
    assert_int_equal(
        hoop_allgather_dim(NULL, NULL, &nothing, 2, HOOP_INT32, alone()),
        HOOP_OK);
    fill(values, 1);
    assert_int_equal(
        hoop_allgather_dim(values, result, &shape_232, 1, HOOP_INT32, alone()),
        HOOP_OK);
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
        SIDES_TEST(tensors_are_joined_along_each_dim),
        SIDES_TEST(parts_are_cut_along_each_dim),
        SIDES_TEST(shapes_that_differ_are_a_mismatch),
        ENGINE_PAIR_TEST(tensors_of_nothing_and_ranks_alone_work),
        SIDES_TEST(rows_of_nothing_take_no_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
