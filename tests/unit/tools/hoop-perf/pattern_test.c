/* tests/unit/tools/hoop-perf/pattern_test.c - hoop-perf/pattern.c */

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hoop-perf/pattern.h"

enum {
    INDICES = 200,
    N_DTYPES = HOOP_BOOL + 1,
};

static const uint32_t sizes[] = {1, 2, 3, 4, 7, 16, 33, 64, 128, 300};

/* The largest partial result of the pattern at index, in rank order. */
static int64_t
partial_max(const struct pattern *pattern, size_t index)
{
    int64_t sum = 0;
    int64_t max = 0;

    for (uint32_t rank = 0; rank < pattern->n_ranks; rank++) {
        const struct number number = pattern_input(pattern, rank, index);

        assert_true(number.real >= 0);
        sum += number.real;
        max = sum > max ? sum : max;
    }
    return max;
}

static void
pattern_sums_stay_exact_in_every_dtype(void **state)
{
    static const enum hoop_reduce_op ops[] = {HOOP_SUM, HOOP_AVG};

    (void)state;
    for (int dtype = 0; dtype < N_DTYPES; dtype++) {
        for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
            const struct pattern pattern = {PATTERN_REDUCED,
                                            (enum hoop_dtype)dtype, ops[i % 2],
                                            sizes[i / 2]};
            for (size_t index = 0; index < INDICES; index++)
                assert_true(partial_max(&pattern, index) <=
                            element_exact_max(pattern.dtype));
        }
    }
}

static void
pattern_average_is_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const struct pattern pattern = {PATTERN_REDUCED, HOOP_BFLOAT16,
                                        HOOP_AVG, sizes[i]};
        for (size_t index = 0; index < INDICES; index++) {
            int64_t sum = 0;
            for (uint32_t rank = 0; rank < sizes[i]; rank++)
                sum += pattern_input(&pattern, rank, index).real;
            assert_int_equal(sum % sizes[i], 0);
            assert_int_equal(pattern_output(&pattern, index).real,
                             sum / sizes[i]);
        }
    }
}

static void
pattern_products_stay_small(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < N_DTYPES; dtype++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            const struct pattern pattern = {PATTERN_REDUCED,
                                            (enum hoop_dtype)dtype,
                                            HOOP_PRODUCT, sizes[i]};
            for (size_t index = 0; index < INDICES; index++) {
                const struct number out = pattern_output(&pattern, index);
                assert_in_range(out.real, 0, 8);
                assert_in_range(out.imaginary, 0, 8);
            }
        }
    }
}

/* Else a rank that is left out would not be missed. */
static void
pattern_depends_on_rank_and_index(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < N_DTYPES; dtype++) {
        const struct pattern pattern = {PATTERN_MOVED, (enum hoop_dtype)dtype,
                                        HOOP_SUM, 4};
        size_t n_by_rank = 0;
        size_t n_by_index = 0;

        for (size_t i = 0; i < INDICES; i++) {
            const int64_t here = pattern_input(&pattern, 1, i).real;
            n_by_rank += here != pattern_input(&pattern, 2, i).real;
            n_by_index += here != pattern_input(&pattern, 1, i + 64).real;
        }
        assert_true(n_by_rank > INDICES / 4);
        assert_true(n_by_index > INDICES / 4);
    }
}

static void
pattern_prefix_combines_the_first_ranks(void **state)
{
    const struct pattern pattern = {PATTERN_REDUCED, HOOP_INT32, HOOP_SUM, 4};

    (void)state;
    for (size_t i = 0; i < INDICES; i++) {
        const int64_t first = pattern_input(&pattern, 0, i).real;
        const int64_t second = pattern_input(&pattern, 1, i).real;

        assert_int_equal(pattern_prefix(&pattern, 1, i).real, first);
        assert_int_equal(pattern_prefix(&pattern, 2, i).real, first + second);
        assert_int_equal(pattern_prefix(&pattern, 4, i).real,
                         pattern_output(&pattern, i).real);
    }
}

static void
pattern_output_combines_all_ranks(void **state)
{
    const struct pattern sum = {PATTERN_REDUCED, HOOP_INT32, HOOP_SUM, 3};
    const struct pattern min = {PATTERN_REDUCED, HOOP_INT32, HOOP_MIN, 3};
    const struct pattern bxor = {PATTERN_REDUCED, HOOP_INT32, HOOP_BXOR, 3};

    (void)state;
    for (size_t i = 0; i < INDICES; i++) {
        int64_t a = pattern_input(&sum, 0, i).real;
        int64_t b = pattern_input(&sum, 1, i).real;
        int64_t c = pattern_input(&sum, 2, i).real;
        assert_int_equal(pattern_output(&sum, i).real, a + b + c);

        a = pattern_input(&min, 0, i).real;
        b = pattern_input(&min, 1, i).real;
        c = pattern_input(&min, 2, i).real;
        const int64_t least = a < b ? a : b;
        assert_int_equal(pattern_output(&min, i).real, least < c ? least : c);
        assert_int_equal(pattern_output(&bxor, i).real, a ^ b ^ c);
    }
}

static void
period_filled_buffer_has_no_wrong_element(void **state)
{
    static struct period period;
    static float buffer[3 * PATTERN_PERIOD];
    const struct pattern pattern = {PATTERN_MOVED, HOOP_FLOAT32, HOOP_SUM, 4};

    (void)state;
    period_of_input(&pattern, 3, &period);
    for (size_t first = 0; first < 3 * PATTERN_PERIOD; first += 1000) {
        const size_t count = 3 * PATTERN_PERIOD - first % 7;
        period_fill(&period, first, count, buffer);
        assert_int_equal(period_count_wrong(&period, first, count, buffer), 0);
        assert_true(
            (int64_t)buffer[count - 1] ==
            pattern_input(&pattern, 3, (first + count - 1) % PATTERN_PERIOD)
                .real);
    }
}

static void
period_each_falsified_element_is_counted(void **state)
{
    static struct period period;
    static uint16_t buffer[2 * PATTERN_PERIOD];
    const struct pattern pattern = {PATTERN_REDUCED, HOOP_BFLOAT16, HOOP_SUM,
                                    4};
    const size_t count = 2 * PATTERN_PERIOD;

    (void)state;
    period_of_output(&pattern, &period);
    period_fill(&period, 5, count, buffer);
    buffer[0] ^= 1;
    assert_int_equal(period_count_wrong(&period, 5, count, buffer), 1);
    buffer[count - 1] ^= 1;
    buffer[PATTERN_PERIOD] ^= 0x8000;
    assert_int_equal(period_count_wrong(&period, 5, count, buffer), 3);
}

static void
period_displaced_block_is_wrong(void **state)
{
    static struct period period;
    static int64_t buffer[1 << 14];
    const struct pattern pattern = {PATTERN_MOVED, HOOP_INT64, HOOP_SUM, 4};
    const size_t block = 1 << 13;

    (void)state;
    period_of_input(&pattern, 0, &period);
    period_fill(&period, 0, 2 * block, buffer);
    memcpy(&buffer[block], buffer, block * sizeof(buffer[0]));
    assert_true(period_count_wrong(&period, 0, 2 * block, buffer) > block / 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pattern_sums_stay_exact_in_every_dtype),
        cmocka_unit_test(pattern_average_is_whole),
        cmocka_unit_test(pattern_products_stay_small),
        cmocka_unit_test(pattern_depends_on_rank_and_index),
        cmocka_unit_test(pattern_prefix_combines_the_first_ranks),
        cmocka_unit_test(pattern_output_combines_all_ranks),
        cmocka_unit_test(period_filled_buffer_has_no_wrong_element),
        cmocka_unit_test(period_each_falsified_element_is_counted),
        cmocka_unit_test(period_displaced_block_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
