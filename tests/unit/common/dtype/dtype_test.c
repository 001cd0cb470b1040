/* tests/unit/common/dtype/dtype_test.c - dtype/dtype.c */

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "dtype/dtype.h"

static void
dtype_known_has_size_and_name(void **state)
{
    static const struct {
        enum hoop_dtype dtype;
        size_t size;
        const char *name;
    } rows[] = {
        {HOOP_INT8, 1, "int8"},           {HOOP_UINT8, 1, "uint8"},
        {HOOP_INT16, 2, "int16"},         {HOOP_UINT16, 2, "uint16"},
        {HOOP_INT32, 4, "int32"},         {HOOP_UINT32, 4, "uint32"},
        {HOOP_INT64, 8, "int64"},         {HOOP_UINT64, 8, "uint64"},
        {HOOP_FLOAT16, 2, "float16"},     {HOOP_BFLOAT16, 2, "bfloat16"},
        {HOOP_FLOAT32, 4, "float32"},     {HOOP_FLOAT64, 8, "float64"},
        {HOOP_COMPLEX64, 8, "complex64"}, {HOOP_COMPLEX128, 16, "complex128"},
        {HOOP_BOOL, 1, "bool"},
    };

    assert_int_equal(COUNT_OF(rows), DTYPE_COUNT);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(dtype_size(rows[i].dtype), rows[i].size);
        assert_string_equal(dtype_name(rows[i].dtype), rows[i].name);
    }
}

static void
dtype_unknown_has_no_size_and_is_called_unknown(void **state)
{
    static const int unknown[] = {-1, DTYPE_COUNT, 255, INT32_MAX, INT32_MIN};

    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        const enum hoop_dtype dtype = (enum hoop_dtype)unknown[i];
        assert_int_equal(dtype_size(dtype), 0);
        assert_string_equal(dtype_name(dtype), "unknown");
    }
}

static void
reduce_op_known_has_name(void **state)
{
    assert_string_equal(reduce_op_name(HOOP_SUM), "sum");
    assert_string_equal(reduce_op_name(HOOP_PRODUCT), "product");
    assert_string_equal(reduce_op_name(HOOP_MIN), "min");
    assert_string_equal(reduce_op_name(HOOP_MAX), "max");
    assert_string_equal(reduce_op_name(HOOP_BOR), "bor");
    assert_string_equal(reduce_op_name(HOOP_BAND), "band");
    assert_string_equal(reduce_op_name(HOOP_BXOR), "bxor");
    assert_string_equal(reduce_op_name(HOOP_AVG), "avg");
}

static void
reduce_op_gap_and_unknown_are_called_unknown(void **state)
{
    static const int unknown[] = {4, 5, 6, REDUCE_OP_COUNT, -1, INT32_MAX};

    for (size_t i = 0; i < COUNT_OF(unknown); i++)
        assert_string_equal(reduce_op_name((enum hoop_reduce_op)unknown[i]),
                            "unknown");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dtype_known_has_size_and_name),
        cmocka_unit_test(dtype_unknown_has_no_size_and_is_called_unknown),
        cmocka_unit_test(reduce_op_known_has_name),
        cmocka_unit_test(reduce_op_gap_and_unknown_are_called_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
