/* tests/unit/worker/pipeline/shard_test.c - pipeline/shard_gather.c */

#include "check.h"
#include "pipeline/shard_gather.h"
#include "tensor/layout.h"

static void
only_what_has_equal_parts_is_cut(void **state)
{
    assert_true(shard_can_split(6, 2));
    assert_true(shard_can_split(4, 4));
    assert_false(shard_can_split(5, 2));
    assert_false(shard_can_split(1, 2));
    assert_false(shard_can_split(0, 2));
    assert_false(shard_can_split(6, 1));
    assert_false(shard_can_split(6, 0));
}

static void
shares_are_equal_runs(void **state)
{
    int32_t at[6] = {0};
    const struct hoop_tensor tensor = {
        .data = at,
        .dtype = HOOP_INT32,
        .shape = {2, {2, 3}},
    };

    for (uint32_t rank = 0; rank < 3; rank++) {
        const struct hoop_tensor shard = shard_of_rank(&tensor, rank, 3);

        assert_ptr_equal(shard.data, at + 2 * rank);
        assert_int_equal(shard.dtype, HOOP_INT32);
        assert_true(shape_equal(&shard.shape, &(struct hoop_shape){2, {2, 1}}));
    }
    assert_ptr_equal(shard_of_rank(&tensor, 5, 6).data, at + 5);
}

/* Their sizes multiply to the shard's count, whatever divides what. */
static void
shapes_of_shares_have_the_right_count(void **state)
{
    for (uint32_t n_ranks = 2; n_ranks <= 12; n_ranks++) {
        for (size_t a = 1; a <= 12; a++) {
            for (size_t b = 1; b <= 12; b++) {
                const struct hoop_tensor tensor = {
                    .dtype = HOOP_INT8,
                    .shape = {3, {a, b, 5}},
                };
                size_t count;

                if (!shard_can_split(5 * a * b, n_ranks))
                    continue;
                const struct hoop_tensor shard =
                    shard_of_rank(&tensor, 0, n_ranks);
                assert_ok(shape_count(&shard.shape, &count));
                assert_int_equal(count * n_ranks, 5 * a * b);
            }
        }
    }
}

static void
shapes_that_differ_have_shares_that_differ(void **state)
{
    const struct hoop_tensor a = {.dtype = HOOP_INT8, .shape = {2, {2, 3}}};
    const struct hoop_tensor b = {.dtype = HOOP_INT8, .shape = {2, {3, 2}}};
    const struct hoop_shape shard = shard_of_rank(&a, 0, 2).shape;
    const struct hoop_shape other = shard_of_rank(&b, 0, 2).shape;
    const struct hoop_tensor none = shard_make_empty(HOOP_INT8);

    assert_false(shape_equal(&shard, &other));
    assert_false(shape_equal(&shard, &none.shape));
}

static void
tensors_that_are_not_cut_say_their_sizes(void **state)
{
    struct hoop_tensor tensor = {
        .dtype = HOOP_INT8,
        .shape = {HOOP_MAX_DIMS, {1, 2, 3, 4, 5, 6, 7, 8}},
    };
    const struct hoop_shape greatest = {HOOP_MAX_DIMS,
                                        {0, 1, 2, 3, 4, 5, 6, 7}};

    struct hoop_tensor shard = shard_placeholder(&tensor);

    assert_true(shape_equal(&shard.shape, &greatest));
    tensor.shape.n_dims = 1;
    shard = shard_placeholder(&tensor);
    assert_true(shape_equal(&shard.shape, &(struct hoop_shape){2, {0, 1}}));
    tensor.shape.n_dims = 0;
    shard = shard_placeholder(&tensor);
    assert_true(shape_equal(&shard.shape, &(struct hoop_shape){1, {0}}));
    assert_int_equal(shard.dtype, HOOP_INT8);
    assert_null(shard.data);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_has_equal_parts_is_cut),
        cmocka_unit_test(shares_are_equal_runs),
        cmocka_unit_test(shapes_of_shares_have_the_right_count),
        cmocka_unit_test(shapes_that_differ_have_shares_that_differ),
        cmocka_unit_test(tensors_that_are_not_cut_say_their_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
