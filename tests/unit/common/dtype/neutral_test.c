/* tests/unit/common/dtype/neutral_test.c - what changes nothing
 *
 * Combined from either side with elements of every type, bit for bit.
 */

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "dtype/dtype.h"
#include "dtype/neutral.h"
#include "dtype/reduction.h"

enum {
    COUNT = 4,
    BYTES_MAX = COUNT * 16,
};

/* Bytes of COUNT elements at the most; integers take the first row. */
static const uint64_t integers[] = {
    0,  1, UINT64_MAX, 0x8000000000000080, 0x7f55aa010203fe01,
    42, 7, 0xdeadbeef};
static const uint16_t float16[] = {0x8000, 0x3e00, 0x7c00, 0x0001};
static const uint16_t bfloat16[] = {0x8000, 0xbfc0, 0x7f80, 0x0001};
static const float float32[] = {-0.0F, 1.5F, INFINITY, 1e-40F};
static const double float64[] = {-0.0, -1.5, INFINITY, 1e-310};
static const float complex64[][2] = {{-0.0F, -0.0F}, {1, 2}, {3, 4}, {5, 6}};
static const double complex128[][2] = {{-0.0, -0.0}, {1, 2}, {3, 4}, {5, 6}};
static const uint8_t bools[] = {0, 1, 1, 0};

static const void *const values[DTYPE_COUNT] = {
    [HOOP_INT8] = integers,       [HOOP_UINT8] = integers,
    [HOOP_INT16] = integers,      [HOOP_UINT16] = integers,
    [HOOP_INT32] = integers,      [HOOP_UINT32] = integers,
    [HOOP_INT64] = integers,      [HOOP_UINT64] = integers,
    [HOOP_FLOAT16] = float16,     [HOOP_BFLOAT16] = bfloat16,
    [HOOP_FLOAT32] = float32,     [HOOP_FLOAT64] = float64,
    [HOOP_COMPLEX64] = complex64, [HOOP_COMPLEX128] = complex128,
    [HOOP_BOOL] = bools,
};

static void
changes_nothing(enum hoop_dtype dtype, enum hoop_reduce_op op)
{
    const size_t n_bytes = COUNT * dtype_size(dtype);
    /* Minus nothing times one is plus nothing: complex products round so. */
    const bool is_complex = dtype == HOOP_COMPLEX64 || dtype == HOOP_COMPLEX128;
    const size_t skipped =
        is_complex && op == HOOP_PRODUCT ? dtype_size(dtype) : 0;
    unsigned char neutral[BYTES_MAX];
    unsigned char out[BYTES_MAX];

    neutral_fill(dtype, op, neutral, COUNT);
    reduction_find(dtype, op)(out, values[dtype], neutral, COUNT);
    assert_memory_equal(out + skipped,
                        (const unsigned char *)values[dtype] + skipped,
                        n_bytes - skipped);
    reduction_find(dtype, op)(out, neutral, values[dtype], COUNT);
    assert_memory_equal(out + skipped,
                        (const unsigned char *)values[dtype] + skipped,
                        n_bytes - skipped);
}

static void
neutral_of_every_type_and_operator_changes_nothing(void **state)
{
    static const enum hoop_reduce_op ops[] = {HOOP_SUM, HOOP_PRODUCT, HOOP_BOR,
                                              HOOP_BAND, HOOP_BXOR};
    int n_pairs = 0;

    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        for (size_t i = 0; i < COUNT_OF(ops); i++) {
            const bool exists = neutral_exists((enum hoop_dtype)dtype, ops[i]);

            assert_int_equal(
                exists, reduction_find((enum hoop_dtype)dtype, ops[i]) != NULL);
            if (!exists)
                continue;
            changes_nothing((enum hoop_dtype)dtype, ops[i]);
            n_pairs++;
        }
    }
    assert_int_equal(n_pairs, 9 * 5 + 6 * 2);
}

static void
neutral_of_extremes_and_means_does_not_exist(void **state)
{
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        assert_false(neutral_exists((enum hoop_dtype)dtype, HOOP_MIN));
        assert_false(neutral_exists((enum hoop_dtype)dtype, HOOP_MAX));
        assert_false(neutral_exists((enum hoop_dtype)dtype, HOOP_AVG));
    }
    assert_false(neutral_exists((enum hoop_dtype)99, HOOP_SUM));
    assert_false(neutral_exists(HOOP_INT32, (enum hoop_reduce_op)5));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neutral_of_every_type_and_operator_changes_nothing),
        cmocka_unit_test(neutral_of_extremes_and_means_does_not_exist),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
