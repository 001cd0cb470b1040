/* tests/unit/common/tensor/result_test.c - tensor/operand.c */

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "check.h"
#include "tensor/operand.h"
#include "tensor/result.h"

static const struct hoop_shape shape_23 = {2, {2, 3}};
static const struct hoop_shape shape_32 = {2, {3, 2}};

static void
without_memory_it_is_allocated(void **state)
{
    const struct hoop_shape nothing = {2, {0, 3}};
    struct hoop_tensor out = {.dtype = HOOP_INT8, .shape = {1, {7}}};
    struct result result;

    assert_ok(result_prepare(&out, "out", HOOP_FLOAT32, &shape_23, &result));
    assert_non_null(out.data);
    assert_int_equal((uintptr_t)out.data % 64, 0);
    assert_int_equal(out.dtype, HOOP_FLOAT32);
    assert_memory_equal(&out.shape, &shape_23, sizeof(shape_23));
    assert_null(out.strides);
    memset(out.data, 1, 24);
    result_withdraw(&result);
    assert_null(out.data);
    assert_int_equal(out.dtype, HOOP_INT8);
    assert_int_equal(out.shape.dims[0], 7);
    result_withdraw(&result);

    assert_ok(result_prepare(&out, "out", HOOP_FLOAT32, &nothing, &result));
    assert_null(out.data);
    result_withdraw(&result);
}

static void
memory_of_the_caller_must_fit(void **state)
{
    float values[6];
    const size_t turned[] = {1, 2};
    struct hoop_tensor out = {values, HOOP_FLOAT32, shape_23, NULL};
    struct result result;

    assert_ok(result_prepare(&out, "out", HOOP_FLOAT32, &shape_23, &result));
    assert_ptr_equal(out.data, values);
    result_withdraw(&result);
    assert_ptr_equal(out.data, values);
    assert_int_equal(
        result_prepare(&out, "out", HOOP_FLOAT32, &shape_32, &result),
        HOOP_E_INVALID);
    assert_string_equal(error_text(),
                        "out is [2, 3] of float32, but the result is [3, 2] "
                        "of float32");
    assert_int_equal(
        result_prepare(&out, "out", HOOP_INT32, &shape_23, &result),
        HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "of int32"));
    out.strides = turned;
    assert_int_equal(
        result_prepare(&out, "out", HOOP_FLOAT32, &shape_23, &result),
        HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "dense"));
    assert_ptr_equal(out.data, values);
}

static void
what_cannot_be_allocated_leaves_nothing(void **state)
{
    const struct hoop_shape endless = {1, {INT64_MAX / 2}};
    const struct hoop_shape wrong = {2, {SIZE_MAX, 2}};
    struct hoop_tensor out = {.dtype = HOOP_INT8};
    struct result result = {.out = NULL};

    assert_int_equal(
        result_prepare(NULL, "grad", HOOP_INT8, &shape_23, &result),
        HOOP_E_INVALID);
    assert_string_equal(error_text(), "grad is NULL");
    assert_int_equal(result_prepare(&out, "out", HOOP_INT8, &endless, &result),
                     HOOP_E_EXHAUSTED);
    assert_int_equal(result_prepare(&out, "out", HOOP_INT64, &endless, &result),
                     HOOP_E_EXHAUSTED);
    assert_int_equal(result_prepare(&out, "out", HOOP_INT8, &wrong, &result),
                     HOOP_E_INVALID);
    assert_int_equal(
        result_prepare(&out, "out", (enum hoop_dtype)77, &shape_23, &result),
        HOOP_E_INVALID);
    assert_null(out.data);
    assert_int_equal(out.dtype, HOOP_INT8);
    result_withdraw(&result);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_memory_it_is_allocated),
        cmocka_unit_test(memory_of_the_caller_must_fit),
        cmocka_unit_test(what_cannot_be_allocated_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
