/* tests/unit/worker/api/tensor_test.c - api/tensor_message.c */

#include <string.h>

#include "hoop/status.h"
#include "hoop/tensor.h"

#include "check.h"

static const struct hoop_shape shape_23 = {2, {2, 3}};
static const struct hoop_shape shape_32 = {2, {3, 2}};

static void
shapes_are_counted_and_compared(void **state)
{
    size_t count = 0;

    assert_ok(hoop_shape_count(&shape_23, &count));
    assert_int_equal(count, 6);
    assert_int_equal(hoop_shape_count(NULL, &count), HOOP_E_INVALID);
    assert_int_equal(hoop_shape_count(&shape_23, NULL), HOOP_E_INVALID);
    assert_true(hoop_shape_equal(&shape_23, &shape_23));
    assert_false(hoop_shape_equal(&shape_23, &shape_32));
}

static void
created_tensors_are_zero_and_freed_once(void **state)
{
    struct hoop_tensor tensor;

    assert_ok(hoop_tensor_create(HOOP_INT32, &shape_23, &tensor));
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(((int32_t *)tensor.data)[i], 0);
    assert_true(hoop_tensor_is_dense(&tensor));
    hoop_tensor_free(&tensor);
    assert_null(tensor.data);
    hoop_tensor_free(&tensor);
    hoop_tensor_free(NULL);
    assert_int_equal(hoop_tensor_create(HOOP_INT32, NULL, &tensor),
                     HOOP_E_INVALID);
    assert_int_equal(hoop_tensor_create(HOOP_INT32, &shape_23, NULL),
                     HOOP_E_INVALID);
}

static void
nothing_is_not_dense(void **state)
{
    const struct hoop_tensor many = {.shape = {.n_dims = UINT32_MAX}};

    assert_false(hoop_tensor_is_dense(NULL));
    assert_false(hoop_tensor_is_dense(&many));
}

static void
copies_pack_and_unpack(void **state)
{
    int32_t columns[6] = {1, 4, 2, 5, 3, 6};
    const int32_t rows[6] = {1, 2, 3, 4, 5, 6};
    int32_t again[6] = {0};
    const size_t strides[2] = {1, 2};
    const struct hoop_tensor turned = {columns, HOOP_INT32, shape_23, strides};
    struct hoop_tensor unpacked = {again, HOOP_INT32, shape_23, strides};
    struct hoop_tensor packed = {.data = NULL};

    assert_false(hoop_tensor_is_dense(&turned));
    assert_ok(hoop_tensor_copy(&turned, &packed));
    assert_true(hoop_tensor_is_dense(&packed));
    assert_memory_equal(packed.data, rows, sizeof(rows));
    assert_ok(hoop_tensor_copy(&packed, &unpacked));
    assert_memory_equal(again, columns, sizeof(columns));
    hoop_tensor_free(&packed);
}

static void
copies_of_wrong_tensors_are_invalid(void **state)
{
    int32_t values[6] = {0};
    const size_t far[2] = {SIZE_MAX, 1};
    const struct hoop_tensor tensor = {values, HOOP_INT32, shape_23, NULL};
    struct hoop_tensor out = {values, HOOP_INT32, shape_32, NULL};

    assert_int_equal(hoop_tensor_copy(NULL, &out), HOOP_E_INVALID);
    assert_int_equal(hoop_tensor_copy(&tensor, NULL), HOOP_E_INVALID);
    assert_int_equal(hoop_tensor_copy(&tensor, &out), HOOP_E_INVALID);
    assert_non_null(strstr(hoop_error_text(), "out is [3, 2] of int32"));
    out.shape = shape_23;
    out.strides = far;
    assert_int_equal(hoop_tensor_copy(&tensor, &out), HOOP_E_INVALID);
    assert_non_null(strstr(hoop_error_text(), "out: stride"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_counted_and_compared),
        cmocka_unit_test(created_tensors_are_zero_and_freed_once),
        cmocka_unit_test(nothing_is_not_dense),
        cmocka_unit_test(copies_pack_and_unpack),
        cmocka_unit_test(copies_of_wrong_tensors_are_invalid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
