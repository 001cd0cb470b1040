/* tests/unit/common/wire/unpack_test.c - wire/unpack.c */

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "check.h"
#include "wire/unpack.h"

/* A string literal as a message; its final 0 is not part of it. */
static struct unpack
unpack_of(const char *bytes, size_t n_with_zero)
{
    struct unpack unpack;

    unpack_init(&unpack, bytes, n_with_zero - 1, LIMIT_RPC_MESSAGE);
    return unpack;
}

static void
unpack_reads_every_type_in_order(void **state)
{
    static const char message[] = "\x97\xcd\x12\x34\xff\xc3\xa2"
                                  "hi\xc4\x03\x01\x00\x02\xc0\x91\x05";
    struct unpack unpack = unpack_of(message, sizeof(message));

    assert_int_equal(unpack_array(&unpack, 7), 7);
    assert_int_equal(unpack_uint(&unpack, UINT64_MAX), 0x1234);
    assert_int_equal(unpack_int(&unpack), -1);
    assert_true(unpack_bool(&unpack));

    const struct unpack_view text = unpack_str(&unpack, 2);
    assert_int_equal(text.n_bytes, 2);
    assert_memory_equal(text.bytes, "hi", 2);

    const struct unpack_view bin = unpack_bin(&unpack, 3);
    assert_int_equal(bin.n_bytes, 3);
    assert_memory_equal(bin.bytes, "\x01\x00\x02", 3);

    assert_true(unpack_nil(&unpack));
    assert_false(unpack_nil(&unpack));
    assert_int_equal(unpack_array(&unpack, 0), 1);
    assert_false(unpack_is_end(&unpack));
    assert_int_equal(unpack_uint(&unpack, 5), 5);
    assert_true(unpack_is_end(&unpack));
    assert_ok(unpack_status(&unpack));
}

static void
unpack_of_nothing_is_at_its_end(void **state)
{
    struct unpack unpack;

    unpack_init(&unpack, NULL, 0, 0);
    assert_ok(unpack_status(&unpack));
    assert_true(unpack_is_end(&unpack));
    assert_int_equal(unpack_uint(&unpack, 1), 0);
    assert_int_equal(unpack_status(&unpack), HOOP_E_DATA_LOSS);
}

static void
unpack_int_reads_the_extremes(void **state)
{
    static const char message[] =
        "\xd3\x80\0\0\0\0\0\0\0\xcf\x7f\xff\xff\xff\xff\xff\xff\xff\xd0\x80"
        "\xe0\xcf\x80\0\0\0\0\0\0\0";
    struct unpack unpack = unpack_of(message, sizeof(message));

    assert_true(unpack_int(&unpack) == INT64_MIN);
    assert_true(unpack_int(&unpack) == INT64_MAX);
    assert_int_equal(unpack_int(&unpack), -128);
    assert_int_equal(unpack_int(&unpack), -32);
    assert_ok(unpack_status(&unpack));
    assert_int_equal(unpack_int(&unpack), 0);
    assert_int_equal(unpack_status(&unpack), HOOP_E_DATA_LOSS);
}

static void
unpack_uint_takes_signed_forms_that_are_not_negative(void **state)
{
    static const char message[] = "\xd1\x01\x00\xd3\0\0\0\0\0\0\0\x09\xff";
    struct unpack unpack = unpack_of(message, sizeof(message));

    assert_int_equal(unpack_uint(&unpack, 256), 256);
    assert_int_equal(unpack_uint(&unpack, 9), 9);
    assert_int_equal(unpack_uint(&unpack, UINT64_MAX), 0);
    assert_int_equal(unpack_status(&unpack), HOOP_E_DATA_LOSS);
}

static void
unpack_first_failure_is_kept_and_the_rest_is_zero(void **state)
{
    static const char message[] = "\x93\x05\xa1x\x07";
    struct unpack unpack = unpack_of(message, sizeof(message));
    char text[4] = "abc";

    assert_int_equal(unpack_array(&unpack, 3), 3);
    assert_false(unpack_bool(&unpack));
    assert_non_null(strstr(error_text(), "byte 1"));
    assert_non_null(strstr(error_text(), "expected bool, found uint"));

    assert_int_equal(unpack_uint(&unpack, 9), 0);
    assert_int_equal(unpack_int(&unpack), 0);
    assert_int_equal(unpack_array(&unpack, 0), 0);
    assert_int_equal(unpack_str(&unpack, 9).n_bytes, 0);
    assert_int_equal(unpack_bin(&unpack, 9).n_bytes, 0);
    assert_false(unpack_nil(&unpack));
    unpack_text(&unpack, text, sizeof(text));
    assert_string_equal(text, "");
    unpack_skip(&unpack, SIZE_MAX);
    assert_true(unpack_is_end(&unpack));
    assert_int_equal(unpack_status(&unpack), HOOP_E_DATA_LOSS);
    assert_non_null(strstr(error_text(), "expected bool, found uint"));
}

static void
unpack_value_over_its_bound_fails(void **state)
{
    struct unpack unpack = unpack_of("\x07", 2);

    assert_int_equal(unpack_uint(&unpack, 6), 0);
    assert_int_equal(unpack_status(&unpack), HOOP_E_DATA_LOSS);

    unpack = unpack_of("\xa3xyz", 5);
    assert_int_equal(unpack_str(&unpack, 2).n_bytes, 0);
    assert_int_equal(unpack_status(&unpack), HOOP_E_DATA_LOSS);

    unpack = unpack_of("\xc4\x02xy", 5);
    assert_int_equal(unpack_bin(&unpack, 1).n_bytes, 0);
    assert_int_equal(unpack_status(&unpack), HOOP_E_DATA_LOSS);

    unpack = unpack_of("\x91\x01", 3);
    assert_int_equal(unpack_array(&unpack, 2), 0);
    assert_int_equal(unpack_status(&unpack), HOOP_E_DATA_LOSS);
}

static void
unpack_text_ends_with_zero_and_refuses_zero_inside(void **state)
{
    struct unpack unpack = unpack_of("\xa3xyz", 5);
    char text[4];

    unpack_text(&unpack, text, sizeof(text));
    assert_string_equal(text, "xyz");
    assert_ok(unpack_status(&unpack));

    unpack = unpack_of("\xa3xyz", 5);
    unpack_text(&unpack, text, 3);
    assert_string_equal(text, "");
    assert_int_equal(unpack_status(&unpack), HOOP_E_DATA_LOSS);

    unpack = unpack_of("\xa3x\0z", 5);
    unpack_text(&unpack, text, sizeof(text));
    assert_string_equal(text, "");
    assert_int_equal(unpack_status(&unpack), HOOP_E_DATA_LOSS);
}

static void
unpack_skip_steps_over_whole_arrays(void **state)
{
    static const char message[] = "\x94\x01\x92\x02\x91\xa1x\x03\x04\x05";
    struct unpack unpack = unpack_of(message, sizeof(message));

    assert_int_equal(unpack_array(&unpack, 1), 4);
    unpack_skip(&unpack, 2);
    assert_int_equal(unpack_uint(&unpack, 9), 3);
    unpack_skip(&unpack, 1);
    assert_int_equal(unpack_uint(&unpack, 9), 5);
    assert_true(unpack_is_end(&unpack));
    assert_ok(unpack_status(&unpack));

    unpack_skip(&unpack, SIZE_MAX);
    assert_int_equal(unpack_status(&unpack), HOOP_E_DATA_LOSS);
}

static void
unpack_init_refuses_what_is_torn_or_foreign(void **state)
{
    static const struct {
        const char *bytes;
        size_t n_bytes;
    } messages[] = {
        {"\xdd\x01\x00\x00\x00", 5},         /* 16 million elements */
        {"\xdc\xff\xff\x00", 4},             /* 65,535 elements */
        {"\xdd\xff\xff\xff\xff\x91\x91", 7}, /* 4 billion elements */
        {"\x92\x01", 2},
        {"\x91\x92\x01\x91", 4},
        {"\xa5hell", 5},
        {"\xc6\xff\xff\xff\xff\x00", 6},
        {"\xdb\xff\xff\xff\xff\x00", 6},
        {"\xd9", 1},
        {"\xcf\0\0\0\0\0\0\0", 8},
        {"\x81\x01\x02", 3},         /* a map */
        {"\xdf\x10\x00\x00\x00", 5}, /* a map of 256 million */
        {"\xca\x00\x00\x00\x00", 5}, /* a float */
        {"\xc1", 1},                 /* never used in msgpack */
        {"\xd4\x01\x01", 3},         /* an extension */
        {"\x01\xc1", 2},
    };

    for (size_t i = 0; i < COUNT_OF(messages); i++) {
        struct unpack unpack;

        unpack_init(&unpack, messages[i].bytes, messages[i].n_bytes, 100);
        assert_int_equal(unpack_status(&unpack), HOOP_E_DATA_LOSS);
        assert_true(unpack_is_end(&unpack));
    }
}

static void
unpack_init_refuses_more_than_the_limit(void **state)
{
    struct unpack unpack;

    unpack_init(&unpack, "\x01\x02\x03", 3, 2);
    assert_int_equal(unpack_status(&unpack), HOOP_E_DATA_LOSS);
    unpack_init(&unpack, "\x01\x02\x03", 3, 3);
    assert_ok(unpack_status(&unpack));
}

static void
unpack_init_bounds_the_depth(void **state)
{
    uint8_t bytes[LIMIT_MESSAGE_DEPTH + 1];
    struct unpack unpack;

    memset(bytes, 0x91, sizeof(bytes));
    bytes[LIMIT_MESSAGE_DEPTH] = 0x01;
    unpack_init(&unpack, bytes, sizeof(bytes), 100);
    assert_ok(unpack_status(&unpack));

    bytes[LIMIT_MESSAGE_DEPTH] = 0x90;
    unpack_init(&unpack, bytes, sizeof(bytes), 100);
    assert_int_equal(unpack_status(&unpack), HOOP_E_DATA_LOSS);
    assert_non_null(strstr(error_text(), "nests"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unpack_reads_every_type_in_order),
        cmocka_unit_test(unpack_of_nothing_is_at_its_end),
        cmocka_unit_test(unpack_int_reads_the_extremes),
        cmocka_unit_test(unpack_uint_takes_signed_forms_that_are_not_negative),
        cmocka_unit_test(unpack_first_failure_is_kept_and_the_rest_is_zero),
        cmocka_unit_test(unpack_value_over_its_bound_fails),
        cmocka_unit_test(unpack_text_ends_with_zero_and_refuses_zero_inside),
        cmocka_unit_test(unpack_skip_steps_over_whole_arrays),
        cmocka_unit_test(unpack_init_refuses_what_is_torn_or_foreign),
        cmocka_unit_test(unpack_init_refuses_more_than_the_limit),
        cmocka_unit_test(unpack_init_bounds_the_depth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
