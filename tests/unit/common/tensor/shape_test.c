/* tests/unit/common/tensor/shape_test.c - tensor/layout.c */

#include <string.h>

#include "base/error.h"
#include "check.h"
#include "tensor/layout.h"

#define SHAPE(...)                                                             \
    &(const struct hoop_shape)                                                 \
    {                                                                          \
        sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t),                      \
        {                                                                      \
            __VA_ARGS__                                                        \
        }                                                                      \
    }

static const struct hoop_shape scalar = {.n_dims = 0};

static void
count_is_the_product_of_the_sizes(void **state)
{
    size_t count = 77;

    assert_ok(shape_count(&scalar, &count));
    assert_int_equal(count, 1);
    assert_ok(shape_count(SHAPE(2, 3, 4), &count));
    assert_int_equal(count, 24);
    assert_ok(shape_count(SHAPE(2, 0, 4), &count));
    assert_int_equal(count, 0);
    assert_ok(shape_count(SHAPE(1, 1, 1, 1, 1, 1, 1, 5), &count));
    assert_int_equal(count, 5);
    assert_ok(shape_count(SHAPE(INT64_MAX), &count));
    assert_true(count == INT64_MAX);
}

static void
count_too_large_is_invalid(void **state)
{
    const struct hoop_shape nine = {.n_dims = 9};
    size_t count = 77;

    assert_int_equal(shape_count(NULL, &count), HOOP_E_INVALID);
    assert_int_equal(shape_count(&nine, &count), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "9 dimensions"));
    assert_int_equal(shape_count(SHAPE((size_t)INT64_MAX + 1), &count),
                     HOOP_E_INVALID);
    assert_int_equal(shape_count(SHAPE(SIZE_MAX, 2), &count), HOOP_E_INVALID);
    /* Zeros do not hide it, wherever they stand. */
    assert_int_equal(shape_count(SHAPE(0, SIZE_MAX, 3), &count),
                     HOOP_E_INVALID);
    assert_int_equal(shape_count(SHAPE(SIZE_MAX, 3, 0), &count),
                     HOOP_E_INVALID);
    assert_int_equal(count, 77);
}

static void
equal_wants_the_same_dimensions(void **state)
{
    struct hoop_shape a = *(SHAPE(2, 3));

    a.dims[2] = 99; /* does not count */
    assert_true(shape_equal(&a, SHAPE(2, 3)));
    assert_true(shape_equal(&scalar, &scalar));
    assert_false(shape_equal(&a, SHAPE(2, 3, 1)));
    assert_false(shape_equal(&a, SHAPE(3, 2)));
    assert_false(shape_equal(&scalar, SHAPE(1)));
    assert_false(shape_equal(&a, NULL));
    assert_false(shape_equal(NULL, NULL));
}

static void
dim_counts_from_either_end(void **state)
{
    uint32_t at = 77;

    for (int32_t dim = 0; dim < 3; dim++) {
        assert_ok(shape_dim(SHAPE(4, 5, 6), dim, &at));
        assert_int_equal(at, dim);
        assert_ok(shape_dim(SHAPE(4, 5, 6), dim - 3, &at));
        assert_int_equal(at, dim);
    }
    at = 77;
    assert_int_equal(shape_dim(SHAPE(4, 5, 6), 3, &at), HOOP_E_INVALID);
    assert_int_equal(shape_dim(SHAPE(4, 5, 6), -4, &at), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "no dim -4 in a tensor of 3"));
    assert_int_equal(shape_dim(&scalar, 0, &at), HOOP_E_INVALID);
    assert_int_equal(shape_dim(&scalar, -1, &at), HOOP_E_INVALID);
    assert_int_equal(shape_dim(SHAPE(1), INT32_MIN, &at), HOOP_E_INVALID);
    assert_int_equal(at, 77);
}

static void
text_has_room_for_every_shape(void **state)
{
    const struct hoop_shape large = {.n_dims = 8,
                                     .dims = {SIZE_MAX, SIZE_MAX, SIZE_MAX,
                                              SIZE_MAX, SIZE_MAX, SIZE_MAX,
                                              SIZE_MAX, SIZE_MAX}};
    const struct hoop_shape any = {.n_dims = UINT32_MAX};

    assert_string_equal(shape_text(SHAPE(2, 3)).text, "[2, 3]");
    assert_string_equal(shape_text(&scalar).text, "[]");
    assert_string_equal(shape_text(&any).text, "[any]");
    assert_int_equal(strlen(shape_text(&large).text), 8 * 20 + 7 * 2 + 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(count_is_the_product_of_the_sizes),
        cmocka_unit_test(count_too_large_is_invalid),
        cmocka_unit_test(equal_wants_the_same_dimensions),
        cmocka_unit_test(dim_counts_from_either_end),
        cmocka_unit_test(text_has_room_for_every_shape),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
