/* tests/unit/tools/hoop-perf/operation_test.c - hoop-perf/operation.c and
 * the files beside it */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hoop-perf/element.h"
#include "hoop-perf/operation.h"
#include "hoop-perf/pattern.h"

static void
operation_names_are_found(void **state)
{
    static const char *const names[OPERATION_COUNT] = {
        "allreduce",       "allgather", "allgatherv", "reduce_scatter",
        "reduce_scatterv", "broadcast", "reduce",     "gather",
        "gatherv",         "scatter",   "scatterv",   "alltoall",
        "alltoallv",       "scan",      "exscan",     "sendrecv",
        "barrier"};

    for (size_t i = 0; i < OPERATION_COUNT; i++)
        assert_ptr_equal(operation_find(names[i]), &operations[i]);
    assert_null(operation_find("alltoallw"));
    assert_null(operation_find(""));
}

static void
operation_size_is_the_whole_buffers(void **state)
{
    const struct extent all =
        operation_extent(operation_find("allreduce"), 4096, 4, 4);
    assert_int_equal(all.n_bytes, 4096);
    assert_int_equal(all.count, 1024);

    const struct extent gather =
        operation_extent(operation_find("allgather"), 4096, 4, 4);
    assert_int_equal(gather.n_bytes, 4096);
    assert_int_equal(gather.count, 256);
    assert_int_equal(gather.n_send, 256);
    assert_int_equal(gather.n_receive, 1024);

    const struct extent scatter =
        operation_extent(operation_find("reduce_scatter"), 4096, 4, 4);
    assert_int_equal(scatter.n_send, 1024);
    assert_int_equal(scatter.n_receive, 256);

    const struct extent exchange =
        operation_extent(operation_find("alltoall"), 4096, 4, 4);
    assert_int_equal(exchange.count, 256);
    assert_int_equal(exchange.n_send, 1024);
    assert_int_equal(exchange.n_receive, 1024);
}

static void
operation_size_is_cut_to_whole_parts(void **state)
{
    const struct extent gather =
        operation_extent(operation_find("allgather"), 100, 8, 5);
    assert_int_equal(gather.count, 2);
    assert_int_equal(gather.n_bytes, 80);

    const struct extent none =
        operation_extent(operation_find("reduce_scatter"), 8, 4, 3);
    assert_int_equal(none.count, 0);
    assert_int_equal(none.n_bytes, 0);

    const struct extent odd =
        operation_extent(operation_find("sendrecv"), 11, 4, 3);
    assert_int_equal(odd.count, 2);
    assert_int_equal(odd.n_bytes, 8);
}

static void
operation_barrier_has_no_elements(void **state)
{
    const struct extent none =
        operation_extent(operation_find("barrier"), 4096, 4, 4);
    assert_int_equal(none.n_bytes, 0);
    assert_int_equal(none.n_send + none.n_receive, 0);
}

static void
operation_bus_factors_are_nccl_tests(void **state)
{
    assert_true(operation_bus_factor(operation_find("allreduce"), 4) == 1.5);
    assert_true(operation_bus_factor(operation_find("allreduce"), 1) == 0);
    assert_true(operation_bus_factor(operation_find("allgather"), 4) == 0.75);
    assert_true(operation_bus_factor(operation_find("reduce_scatter"), 2) ==
                0.5);
    assert_true(operation_bus_factor(operation_find("broadcast"), 4) == 1);
    assert_true(operation_bus_factor(operation_find("reduce"), 4) == 1);
    assert_true(operation_bus_factor(operation_find("sendrecv"), 4) == 1);
    assert_true(operation_bus_factor(operation_find("gather"), 4) == 0.75);
    assert_true(operation_bus_factor(operation_find("scatterv"), 4) == 0.75);
    assert_true(operation_bus_factor(operation_find("alltoall"), 4) == 0.75);
    assert_true(operation_bus_factor(operation_find("scan"), 4) == 1);
}

static void
operation_knows_whether_it_reduces(void **state)
{
    assert_true(operation_reduces(operation_find("allreduce")));
    assert_true(operation_reduces(operation_find("reduce_scatterv")));
    assert_true(operation_reduces(operation_find("exscan")));
    assert_false(operation_reduces(operation_find("scatter")));
    assert_false(operation_reduces(operation_find("alltoallv")));
    assert_false(operation_reduces(operation_find("barrier")));
}

/* These cases test hoop-perf/element.c. */

static const char *const names[] = {"i8",  "u8",  "i16", "u16",  "i32",
                                    "u32", "i64", "u64", "f16",  "bf16",
                                    "f32", "f64", "c64", "c128", "bool"};

static void
element_short_and_long_names_are_known(void **state)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        enum hoop_dtype dtype = HOOP_INT8;

        assert_ok(element_parse_dtype(names[i], &dtype));
        assert_int_equal(dtype, i);
        assert_string_equal(element_name(dtype), names[i]);
        assert_ok(element_parse_dtype(hoop_dtype_name(dtype), &dtype));
        assert_int_equal(dtype, i);
    }
}

static void
element_unknown_names_are_refused(void **state)
{
    enum hoop_dtype dtype = HOOP_BOOL;
    enum hoop_reduce_op op = HOOP_AVG;

    assert_int_equal(element_parse_dtype("f8", &dtype), HOOP_E_INVALID);
    assert_int_equal(element_parse_dtype("", &dtype), HOOP_E_INVALID);
    assert_int_equal(element_parse_reduce_op("plus", &op), HOOP_E_INVALID);
    assert_int_equal(element_parse_reduce_op("unknown", &op), HOOP_E_INVALID);
    assert_int_equal(dtype, HOOP_BOOL);
    assert_int_equal(op, HOOP_AVG);
}

static void
element_reduce_ops_are_known(void **state)
{
    enum hoop_reduce_op op = HOOP_SUM;

    assert_ok(element_parse_reduce_op("prod", &op));
    assert_int_equal(op, HOOP_PRODUCT);
    assert_ok(element_parse_reduce_op("bxor", &op));
    assert_int_equal(op, HOOP_BXOR);
}

/* What binary16 bits mean, written out. */
static double
half_value(uint16_t bits)
{
    const int exponent = (bits >> 10) & 0x1f;
    const double fraction = (bits & 0x3ff) / 1024.0;
    const double magnitude = exponent == 0 ? ldexp(fraction, -14)
                                           : ldexp(1 + fraction, exponent - 15);

    return bits & 0x8000 ? -magnitude : magnitude;
}

static void
element_halves_are_exact_up_to_their_max(void **state)
{
    for (int64_t i = 0; i <= element_exact_max(HOOP_FLOAT16); i++) {
        uint16_t bits = 0;

        element_encode(HOOP_FLOAT16, (struct number){i, 0}, &bits);
        assert_true(half_value(bits) == (double)i);
        element_encode(HOOP_FLOAT16, (struct number){-i, 0}, &bits);
        assert_true(half_value(bits) == -(double)i);
    }
}

static void
element_bfloats_are_exact_up_to_their_max(void **state)
{
    for (int64_t i = 0; i <= element_exact_max(HOOP_BFLOAT16); i++) {
        uint16_t bits[2] = {0, 0}; /* the upper half of a float */
        float value = 0;

        element_encode(HOOP_BFLOAT16, (struct number){i, 0}, &bits[1]);
        memcpy(&value, bits, sizeof(value));
        assert_true(value == (float)i);
    }
}

static void
element_integers_are_cut_to_their_width(void **state)
{
    uint8_t small = 0;
    int32_t medium = 0;
    int64_t large = 0;

    element_encode(HOOP_UINT8, (struct number){257, 0}, &small);
    element_encode(HOOP_INT32, (struct number){-5, 0}, &medium);
    element_encode(HOOP_INT64, (struct number){INT64_MAX, 0}, &large);
    assert_int_equal(small, 1);
    assert_int_equal(medium, -5);
    assert_true(large == INT64_MAX);
}

static void
element_complex_has_both_parts(void **state)
{
    float single[2] = {0, 0};
    double wide[2] = {0, 0};
    uint8_t truth = 0;

    element_encode(HOOP_COMPLEX64, (struct number){3, -4}, single);
    element_encode(HOOP_COMPLEX128, (struct number){5, 6}, wide);
    element_encode(HOOP_BOOL, (struct number){256, 0}, &truth);
    assert_true(single[0] == 3 && single[1] == -4);
    assert_true(wide[0] == 5 && wide[1] == 6);
    assert_int_equal(truth, 1);
    assert_true(element_is_complex(HOOP_COMPLEX64));
    assert_false(element_is_complex(HOOP_FLOAT64));
}

/* These cases test hoop-perf/pattern.c. */

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

    period_of_input(&pattern, 0, &period);
    period_fill(&period, 0, 2 * block, buffer);
    memcpy(&buffer[block], buffer, block * sizeof(buffer[0]));
    assert_true(period_count_wrong(&period, 0, 2 * block, buffer) > block / 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operation_names_are_found),
        cmocka_unit_test(operation_size_is_the_whole_buffers),
        cmocka_unit_test(operation_size_is_cut_to_whole_parts),
        cmocka_unit_test(operation_barrier_has_no_elements),
        cmocka_unit_test(operation_bus_factors_are_nccl_tests),
        cmocka_unit_test(operation_knows_whether_it_reduces),
        cmocka_unit_test(element_short_and_long_names_are_known),
        cmocka_unit_test(element_unknown_names_are_refused),
        cmocka_unit_test(element_reduce_ops_are_known),
        cmocka_unit_test(element_halves_are_exact_up_to_their_max),
        cmocka_unit_test(element_bfloats_are_exact_up_to_their_max),
        cmocka_unit_test(element_integers_are_cut_to_their_width),
        cmocka_unit_test(element_complex_has_both_parts),
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
