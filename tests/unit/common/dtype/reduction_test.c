/*
 * tests/unit/common/dtype/reduction_test.c - dtype/reduction.c and its kernels
 *
 * Every dtype, operator and level has to give the reference's bits, so all
 * levels give each other's.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "dtype/dtype.h"
#include "dtype/reduction.h"
#include "pseudo_random.h"
#include "reference.h"

enum {
    COUNT_MOST = 1000,
    COUNT_SMALL = 67,
    SIZE_MOST = 16,
    GUARD = 64,
    GUARD_BYTE = 0x55,
    OFFSET_MOST = 16,
    BUFFER = COUNT_MOST * SIZE_MOST + 2 * GUARD + OFFSET_MOST,
    HALVES = 65536,
};

/* What one check works on. */
struct fixture {
    enum hoop_dtype dtype;
    enum hoop_reduce_op op;
    size_t size;
    reduction_fn *combine;
    char lefts[COUNT_MOST * SIZE_MOST];
    char rights[COUNT_MOST * SIZE_MOST];
    char results[COUNT_MOST * SIZE_MOST];
};

struct offsets {
    size_t out;
    size_t left;
    size_t right;
};

static uint64_t random_state = 88172645463325252;

/* Random bits, and often enough the numbers where arithmetic has corners. */
static void
element_make(char *out, enum hoop_dtype dtype)
{
    static const double corners[] = {0.0,      -0.0,    1.0,       -1.0,
                                     INFINITY, NAN,     -INFINITY, 0x1p-24,
                                     0x1p-133, 0x1p-14, 65504.0,   -65504.0,
                                     3e38,     0x1p15,  0x1p-149,  2049.0};
    static const uint64_t integers[] = {
        0,         1,         UINT64_MAX, INT64_MAX, (uint64_t)INT64_MIN,
        INT32_MAX, 0x8080,    0x80,       0x7f,      0x80008000,
        0x7fff,    UINT32_MAX};
    const uint64_t bits = random_next(&random_state);
    const uint64_t draw = random_next(&random_state);

    if (draw % 3 == 0)
        memcpy(out, &bits, dtype_size(dtype));
    else if (dtype <= HOOP_UINT64 || dtype == HOOP_BOOL)
        memcpy(out, &integers[bits % COUNT_OF(integers)], dtype_size(dtype));
    else if (draw % 3 == 1)
        reference_store(out, dtype, corners[bits % COUNT_OF(corners)]);
    else
        reference_store(out, dtype, (double)(int16_t)bits / 16);
}

static void
elements_make(char *out, enum hoop_dtype dtype)
{
    const bool is_complex = dtype == HOOP_COMPLEX64 || dtype == HOOP_COMPLEX128;
    const enum hoop_dtype wide =
        dtype == HOOP_COMPLEX64 ? HOOP_FLOAT32 : HOOP_FLOAT64;
    const enum hoop_dtype part = is_complex ? wide : dtype;

    for (size_t i = 0; i < COUNT_MOST * (is_complex ? 2 : 1); i++)
        element_make(out + i * dtype_size(part), part);
}

static void
fixture_fill(struct fixture *fixture,
             enum hoop_dtype dtype,
             enum hoop_reduce_op op)
{
    const size_t size = dtype_size(dtype);

    fixture->dtype = dtype;
    fixture->op = op;
    fixture->size = size;
    elements_make(fixture->lefts, dtype);
    elements_make(fixture->rights, dtype);
    for (size_t i = 0; i < COUNT_MOST; i++)
        reference_combine(fixture->results + i * size,
                          fixture->lefts + i * size, fixture->rights + i * size,
                          dtype, op);
}

static void
guard_check(const char *buffer, size_t offset, size_t n_bytes)
{
    const char *const begin = buffer + GUARD + offset;
    const char *const end = begin + n_bytes;
    char untouched[GUARD];

    memset(untouched, GUARD_BYTE, sizeof(untouched));
    assert_memory_equal(begin - GUARD, untouched, GUARD);
    assert_memory_equal(end, untouched, GUARD);
}

static void
apart_check(const struct fixture *fixture,
            size_t count,
            const struct offsets *offsets)
{
    static _Alignas(64) char out[BUFFER];
    static _Alignas(64) char left[BUFFER];
    static _Alignas(64) char right[BUFFER];
    const size_t n_bytes = count * fixture->size;
    char *const out_at = out + GUARD + offsets->out;
    char *const left_at = left + GUARD + offsets->left;
    char *const right_at = right + GUARD + offsets->right;

    memset(out_at - GUARD, GUARD_BYTE, n_bytes + 2 * GUARD);
    memcpy(left_at, fixture->lefts, n_bytes);
    memcpy(right_at, fixture->rights, n_bytes);
    fixture->combine(out_at, left_at, right_at, count);
    assert_memory_equal(out_at, fixture->results, n_bytes);
    assert_memory_equal(left_at, fixture->lefts, n_bytes);
    assert_memory_equal(right_at, fixture->rights, n_bytes);
    guard_check(out, offsets->out, n_bytes);

    memcpy(out_at, fixture->lefts, n_bytes);
    fixture->combine(out_at, out_at, right_at, count);
    assert_memory_equal(out_at, fixture->results, n_bytes);
    guard_check(out, offsets->out, n_bytes);

    memcpy(out_at, fixture->rights, n_bytes);
    fixture->combine(out_at, left_at, out_at, count);
    assert_memory_equal(out_at, fixture->results, n_bytes);
    guard_check(out, offsets->out, n_bytes);
}

static void
pair_check(enum hoop_dtype dtype, enum hoop_reduce_op op)
{
    static const struct offsets rows[] = {{0, 0, 0}, {1, 2, 3}, {8, 16, 5}};
    static struct fixture fixture;
    const int best = (int)reduction_level_best();

    fixture_fill(&fixture, dtype, op);
    for (int level = 0; level <= best; level++) {
        fixture.combine =
            reduction_find_at((enum reduction_level)level, dtype, op);
        assert_non_null(fixture.combine);
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            for (size_t count = 0; count <= COUNT_SMALL; count++)
                apart_check(&fixture, count, &rows[i]);
            apart_check(&fixture, COUNT_MOST, &rows[i]);
        }
    }
}

static void
reduction_every_pair_and_level_equals_reference(void **state)
{
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        for (int op = 0; op < REDUCE_OP_COUNT; op++)
            if (reference_has((enum hoop_dtype)dtype, (enum hoop_reduce_op)op))
                pair_check((enum hoop_dtype)dtype, (enum hoop_reduce_op)op);
}

/* One element is less than a vector register holds. Its product at the best
 * level is rounded as at the plain one: a * c - b * d in three steps. */
static void
complex_product_is_not_fused(void **state)
{
    const double left[2] = {-1.5335365441303109e-223, 2032.25};
    const double right[2] = {1.8551992788515435e+219, -9.910047550973804e-24};
    double expected[2];

    reference_combine(expected, left, right, HOOP_COMPLEX128, HOOP_PRODUCT);
    for (int level = 0; level <= (int)reduction_level_best(); level++) {
        double out[2];

        reduction_find_at((enum reduction_level)level, HOOP_COMPLEX128,
                          HOOP_PRODUCT)(out, left, right, 1);
        assert_memory_equal(out, expected, sizeof(out));
    }
}

static void
reduction_of_nothing_takes_null(void **state)
{
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        division_fn *const divide = division_find((enum hoop_dtype)dtype);

        reduction_find((enum hoop_dtype)dtype, HOOP_SUM)(NULL, NULL, NULL, 0);
        reduction_find((enum hoop_dtype)dtype, HOOP_PRODUCT)(NULL, NULL, NULL,
                                                             0);
        if (divide)
            divide(NULL, 0, 2);
    }
}

static void
reduction_meaningless_pair_is_null(void **state)
{
    for (int i = 0; i < DTYPE_COUNT; i++)
        for (int j = -1; j <= REDUCE_OP_COUNT; j++) {
            const enum hoop_dtype dtype = (enum hoop_dtype)i;
            const enum hoop_reduce_op op = (enum hoop_reduce_op)j;
            const bool is_found = reduction_find(dtype, op) != NULL;
            assert_int_equal(is_found, reference_has(dtype, op));
        }
    assert_null(division_find(HOOP_BOOL));
}

static void
reduction_unknown_value_is_null(void **state)
{
    assert_null(reduction_find((enum hoop_dtype)DTYPE_COUNT, HOOP_SUM));
    assert_null(reduction_find((enum hoop_dtype) - 1, HOOP_SUM));
    assert_null(reduction_find(HOOP_INT8, (enum hoop_reduce_op)1000));
    assert_null(division_find((enum hoop_dtype)DTYPE_COUNT));
    assert_null(division_find((enum hoop_dtype) - 1));
}

static void
reduction_level_not_run_here_is_null(void **state)
{
    const enum reduction_level above =
        (enum reduction_level)((int)reduction_level_best() + 1);

    assert_null(reduction_find_at(above, HOOP_INT8, HOOP_SUM));
    assert_null(division_find_at(above, HOOP_INT8));
    assert_null(division_find_at((enum reduction_level) - 1, HOOP_INT8));
}

static void
reduction_find_takes_the_best_level(void **state)
{
    const enum reduction_level best = reduction_level_best();

    assert_ptr_equal(reduction_find(HOOP_FLOAT32, HOOP_SUM),
                     reduction_find_at(best, HOOP_FLOAT32, HOOP_SUM));
    assert_ptr_equal(division_find(HOOP_FLOAT32),
                     division_find_at(best, HOOP_FLOAT32));
}

static void
division_check(enum reduction_level level, enum hoop_dtype dtype, uint32_t n)
{
    static char values[1 + COUNT_MOST * SIZE_MOST];
    static char expected[COUNT_MOST * SIZE_MOST];
    const size_t size = dtype_size(dtype);

    elements_make(expected, dtype);
    memcpy(values + 1, expected, sizeof(expected));
    for (size_t i = 0; i < COUNT_MOST - 1; i++)
        reference_divide(expected + i * size, dtype, n);
    division_find_at(level, dtype)(values + 1, COUNT_MOST - 1, n);
    assert_memory_equal(values + 1, expected, COUNT_MOST * size);
}

static void
division_every_dtype_and_level_equals_reference(void **state)
{
    static const uint32_t ns[] = {1,   2,     3,     7,        128,       255,
                                  256, 32769, 65537, 1u << 31, UINT32_MAX};
    const int best = (int)reduction_level_best();

    for (int level = 0; level <= best; level++)
        for (int dtype = 0; dtype < HOOP_BOOL; dtype++)
            for (size_t i = 0; i < COUNT_OF(ns); i++)
                division_check((enum reduction_level)level,
                               (enum hoop_dtype)dtype, ns[i]);
}

/* Where multiplying by an inverse would go wrong: next to multiples of n. And
 * all bytes. */
static void
quotients_check(enum reduction_level level, enum hoop_dtype dtype, uint32_t n)
{
    static uint64_t values[COUNT_MOST];
    static uint64_t expected[COUNT_MOST];
    const size_t size = dtype_size(dtype);

    for (size_t i = 0; i < COUNT_MOST; i++) {
        const uint64_t wide =
            random_next(&random_state) >> random_next(&random_state) % 64;
        const uint64_t near = wide / n * n + random_next(&random_state) % 3 - 1;
        const uint64_t value = i < 256 ? i : near;

        memcpy((char *)values + i * size, &value, size);
    }
    memcpy(expected, values, sizeof(values));
    for (size_t i = 0; i < COUNT_MOST; i++)
        reference_divide((char *)expected + i * size, dtype, n);
    division_find_at(level, dtype)(values, COUNT_MOST, n);
    assert_memory_equal(values, expected, COUNT_MOST * size);
}

static void
division_of_integers_next_to_multiples_equals_reference(void **state)
{
    const int best = (int)reduction_level_best();

    for (int level = 0; level <= best; level++)
        for (int dtype = 0; dtype <= HOOP_UINT64; dtype++)
            for (uint32_t n = 1; n < 1u << 31; n += n < 70 ? 1 : n / 2)
                quotients_check((enum reduction_level)level,
                                (enum hoop_dtype)dtype, n);
}

/* All halves, against partners that leave them as they are or differ. */
static void
halves_check(enum reduction_level level,
             enum hoop_dtype dtype,
             enum hoop_reduce_op op,
             uint16_t partner)
{
    static uint16_t lefts[HALVES];
    static uint16_t rights[HALVES];
    static uint16_t results[HALVES];

    for (uint32_t i = 0; i < HALVES; i++) {
        lefts[i] = (uint16_t)i;
        rights[i] = partner ? (uint16_t)(partner * (i | 1)) : 0x8000;
    }
    reduction_find_at(level, dtype, op)(results, lefts, rights, HALVES);
    for (uint32_t i = 0; i < HALVES; i++) {
        uint16_t expected = 0;
        reference_combine(&expected, &lefts[i], &rights[i], dtype, op);
        assert_int_equal(results[i], expected);
        if (partner == 0 && !isnan(reference_load(&lefts[i], dtype)))
            assert_int_equal(results[i], i);
    }
}

static void
halves_all_at_every_level(enum hoop_dtype dtype)
{
    static const uint16_t partners[] = {0x3c01, 0x0203, 0xbeef, 40503};
    const int best = (int)reduction_level_best();

    for (int i = 0; i <= best; i++) {
        const enum reduction_level level = (enum reduction_level)i;

        halves_check(level, dtype, HOOP_SUM, 0);
        for (size_t j = 0; j < COUNT_OF(partners); j++) {
            halves_check(level, dtype, HOOP_SUM, partners[j]);
            halves_check(level, dtype, HOOP_PRODUCT, partners[j]);
            halves_check(level, dtype, HOOP_MIN, partners[j]);
            halves_check(level, dtype, HOOP_MAX, partners[j]);
        }
    }
}

static void
float16_all_values_keep_their_bits_and_round_to_even(void **state)
{
    halves_all_at_every_level(HOOP_FLOAT16);
}

static void
bfloat16_all_values_keep_their_bits_and_round_to_even(void **state)
{
    halves_all_at_every_level(HOOP_BFLOAT16);
}

static void
float32_min_and_max_do_not_depend_on_order(void **state)
{
    static const uint32_t values[] = {0,          0x80000000, 0x7fc12345,
                                      0xffc00001, 0x7f800001, 0x7f800000,
                                      0xff800000, 0x00000001, 0x3f800000};
    static const enum hoop_reduce_op ops[] = {HOOP_MIN, HOOP_MAX};

    for (size_t i = 0; i < COUNT_OF(values) * COUNT_OF(values) * 2; i++) {
        const uint32_t *const a = &values[i / 2 % COUNT_OF(values)];
        const uint32_t *const b = &values[i / 2 / COUNT_OF(values)];
        reduction_fn *const combine = reduction_find(HOOP_FLOAT32, ops[i % 2]);
        uint32_t forth = 0;
        uint32_t back = 0;

        combine(&forth, a, b, 1);
        combine(&back, b, a, 1);
        assert_int_equal(forth, back);
    }
}

static void
int64_three_ranks_give_known_results(void **state)
{
    static const int64_t ranks[3][3] = {{6, -7, 12}, {3, -2, 10}, {5, 0, 8}};
    static const struct {
        enum hoop_reduce_op op;
        int64_t results[3];
    } rows[] = {
        {HOOP_SUM, {14, -9, 30}}, {HOOP_PRODUCT, {90, 0, 960}},
        {HOOP_MIN, {3, -7, 8}},   {HOOP_MAX, {6, 0, 12}},
        {HOOP_BAND, {0, 0, 8}},   {HOOP_BOR, {7, -1, 14}},
        {HOOP_BXOR, {0, 7, 14}},  {HOOP_AVG, {4, -3, 10}},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        reduction_fn *const combine = reduction_find(HOOP_INT64, rows[i].op);
        int64_t values[3];

        combine(values, ranks[0], ranks[1], 3);
        combine(values, values, ranks[2], 3);
        if (rows[i].op == HOOP_AVG)
            division_find(HOOP_INT64)(values, 3, 3);
        assert_memory_equal(values, rows[i].results, sizeof(values));
    }
}

static void
int32_average_truncates_toward_zero(void **state)
{
    static const int32_t expected[] = {-1, 1, 2, 0};
    int32_t values[] = {-3, 3, 5, -1};
    const int32_t zeros[4] = {0};

    reduction_find(HOOP_INT32, HOOP_AVG)(values, values, zeros, 4);
    division_find(HOOP_INT32)(values, 4, 2);
    assert_memory_equal(values, expected, sizeof(values));
}

static void
uint8_average_is_of_the_wrapped_sum(void **state)
{
    const uint8_t more = 100;
    uint8_t value = 200;

    reduction_find(HOOP_UINT8, HOOP_SUM)(&value, &value, &more, 1);
    assert_int_equal(value, 44);
    division_find(HOOP_UINT8)(&value, 1, 3);
    assert_int_equal(value, 14);
}

static void
float32_average_divides_once(void **state)
{
    const float five = 5;
    float value = 0;

    reduction_find(HOOP_FLOAT32, HOOP_AVG)(&value, &value, &five, 1);
    division_find(HOOP_FLOAT32)(&value, 1, 3);
    assert_true(value == 1.6666666f);
}

static void
reduction_of_one_makes_bools_0_or_1_and_keeps_all_else(void **state)
{
    static const uint8_t given[] = {0, 1, 2, 127, 128, 255};
    static const uint8_t truth[] = {0, 1, 1, 1, 1, 1};
    const uint32_t nan = 0xffc12345;
    uint8_t values[sizeof(given)];
    uint32_t bits = nan;

    for (size_t n = 0; n <= sizeof(given); n++) {
        memcpy(values, given, sizeof(values));
        reduction_of_one(HOOP_BOOL, values, n);
        assert_memory_equal(values, truth, n);
        assert_memory_equal(values + n, given + n, sizeof(given) - n);
    }
    reduction_of_one(HOOP_BOOL, NULL, 0);
    memcpy(values, given, sizeof(values));
    reduction_of_one(HOOP_UINT8, values, sizeof(values));
    assert_memory_equal(values, given, sizeof(values));
    reduction_of_one(HOOP_FLOAT32, &bits, 1);
    assert_int_equal(bits, nan);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            reduction_of_one_makes_bools_0_or_1_and_keeps_all_else),
        cmocka_unit_test(reduction_every_pair_and_level_equals_reference),
        cmocka_unit_test(complex_product_is_not_fused),
        cmocka_unit_test(reduction_of_nothing_takes_null),
        cmocka_unit_test(reduction_meaningless_pair_is_null),
        cmocka_unit_test(reduction_unknown_value_is_null),
        cmocka_unit_test(reduction_level_not_run_here_is_null),
        cmocka_unit_test(reduction_find_takes_the_best_level),
        cmocka_unit_test(division_every_dtype_and_level_equals_reference),
        cmocka_unit_test(
            division_of_integers_next_to_multiples_equals_reference),
        cmocka_unit_test(float16_all_values_keep_their_bits_and_round_to_even),
        cmocka_unit_test(bfloat16_all_values_keep_their_bits_and_round_to_even),
        cmocka_unit_test(float32_min_and_max_do_not_depend_on_order),
        cmocka_unit_test(int64_three_ranks_give_known_results),
        cmocka_unit_test(int32_average_truncates_toward_zero),
        cmocka_unit_test(uint8_average_is_of_the_wrapped_sum),
        cmocka_unit_test(float32_average_divides_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
