/* tests/unit/tools/hoop-perf/element_test.c - hoop-perf/element.c */

#include <math.h>
#include <string.h>

#include "check.h"
#include "hoop-perf/element.h"

static const char *const names[] = {"i8",  "u8",  "i16", "u16",  "i32",
                                    "u32", "i64", "u64", "f16",  "bf16",
                                    "f32", "f64", "c64", "c128", "bool"};

static void
element_short_and_long_names_are_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        enum hoop_dtype dtype = HOOP_INT8;

        assert_int_equal(element_parse_dtype(names[i], &dtype), HOOP_OK);
        assert_int_equal(dtype, i);
        assert_string_equal(element_name(dtype), names[i]);
        assert_int_equal(element_parse_dtype(hoop_dtype_name(dtype), &dtype),
                         HOOP_OK);
        assert_int_equal(dtype, i);
    }
}

static void
element_unknown_names_are_refused(void **state)
{
    enum hoop_dtype dtype = HOOP_BOOL;
    enum hoop_reduce_op op = HOOP_AVG;

    (void)state;
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

    (void)state;
    assert_int_equal(element_parse_reduce_op("prod", &op), HOOP_OK);
    assert_int_equal(op, HOOP_PRODUCT);
    assert_int_equal(element_parse_reduce_op("bxor", &op), HOOP_OK);
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
    (void)state;
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
    (void)state;
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

    (void)state;
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

    (void)state;
    element_encode(HOOP_COMPLEX64, (struct number){3, -4}, single);
    element_encode(HOOP_COMPLEX128, (struct number){5, 6}, wide);
    element_encode(HOOP_BOOL, (struct number){256, 0}, &truth);
    assert_true(single[0] == 3 && single[1] == -4);
    assert_true(wide[0] == 5 && wide[1] == 6);
    assert_int_equal(truth, 1);
    assert_true(element_is_complex(HOOP_COMPLEX64));
    assert_false(element_is_complex(HOOP_FLOAT64));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(element_short_and_long_names_are_known),
        cmocka_unit_test(element_unknown_names_are_refused),
        cmocka_unit_test(element_reduce_ops_are_known),
        cmocka_unit_test(element_halves_are_exact_up_to_their_max),
        cmocka_unit_test(element_bfloats_are_exact_up_to_their_max),
        cmocka_unit_test(element_integers_are_cut_to_their_width),
        cmocka_unit_test(element_complex_has_both_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
