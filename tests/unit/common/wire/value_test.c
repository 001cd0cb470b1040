/* tests/unit/common/wire/value_test.c - wire/unpack.c, each first byte */

#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "wire/unpack.h"

static const struct {
    uint8_t bytes[12];
    size_t n_bytes;
    struct value value;
} known[] = {
    {{0x00}, 1, {VALUE_UINT, 0, 1, 0}},
    {{0x7f}, 1, {VALUE_UINT, 127, 1, 0}},
    {{0xe0}, 1, {VALUE_NEGATIVE, (uint64_t)-32, 1, 0}},
    {{0xff}, 1, {VALUE_NEGATIVE, (uint64_t)-1, 1, 0}},
    {{0x90}, 1, {VALUE_ARRAY, 0, 1, 0}},
    {{0x92, 1, 2}, 3, {VALUE_ARRAY, 2, 1, 0}},
    {{0xdc, 0, 1, 9}, 4, {VALUE_ARRAY, 1, 3, 0}},
    {{0xdd, 0, 0, 0, 1, 9}, 6, {VALUE_ARRAY, 1, 5, 0}},
    {{0xa0}, 1, {VALUE_STR, 0, 1, 0}},
    {{0xa2, 'h', 'i'}, 3, {VALUE_STR, 2, 3, 2}},
    {{0xd9, 1, 'x'}, 3, {VALUE_STR, 1, 3, 1}},
    {{0xda, 0, 1, 'x'}, 4, {VALUE_STR, 1, 4, 1}},
    {{0xdb, 0, 0, 0, 1, 'x'}, 6, {VALUE_STR, 1, 6, 1}},
    {{0xc4, 1, 7}, 3, {VALUE_BIN, 1, 3, 1}},
    {{0xc5, 0, 1, 7}, 4, {VALUE_BIN, 1, 4, 1}},
    {{0xc6, 0, 0, 0, 1, 7}, 6, {VALUE_BIN, 1, 6, 1}},
    {{0xc0}, 1, {VALUE_NIL, 0, 1, 0}},
    {{0xc2}, 1, {VALUE_BOOL, 0, 1, 0}},
    {{0xc3}, 1, {VALUE_BOOL, 1, 1, 0}},
    {{0xcc, 0xff}, 2, {VALUE_UINT, 255, 2, 0}},
    {{0xcd, 1, 2}, 3, {VALUE_UINT, 0x102, 3, 0}},
    {{0xce, 1, 2, 3, 4}, 5, {VALUE_UINT, 0x1020304, 5, 0}},
    {{0xcf, 1, 2, 3, 4, 5, 6, 7, 8}, 9, {VALUE_UINT, 0x102030405060708, 9, 0}},
    {{0xd0, 0x80}, 2, {VALUE_NEGATIVE, (uint64_t)-128, 2, 0}},
    {{0xd0, 0x7f}, 2, {VALUE_UINT, 127, 2, 0}},
    {{0xd1, 0xff, 0xfe}, 3, {VALUE_NEGATIVE, (uint64_t)-2, 3, 0}},
    {{0xd2, 0xff, 0xff, 0xff, 0xfd}, 5, {VALUE_NEGATIVE, (uint64_t)-3, 5, 0}},
    {{0xd3, 0x80}, 9, {VALUE_NEGATIVE, (uint64_t)INT64_MIN, 9, 0}},
    {{0xd3, 0x7f}, 9, {VALUE_UINT, 0x7f00000000000000, 9, 0}},
};

static void
value_of_every_form_is_read(void **state)
{
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        const struct value value = value_read(known[i].bytes, known[i].n_bytes);

        assert_int_equal(value.type, known[i].value.type);
        assert_true(value.number == known[i].value.number);
        assert_int_equal(value.n_bytes, known[i].value.n_bytes);
        assert_int_equal(value.n_content, known[i].value.n_content);
    }
}

static void
value_that_is_cut_off_is_none(void **state)
{
    for (size_t i = 0; i < COUNT_OF(known); i++)
        for (size_t n = 0; n < known[i].n_bytes; n++)
            assert_int_equal(value_read(known[i].bytes, n).type, VALUE_NONE);
}

static void
value_of_foreign_types_is_none(void **state)
{
    static const uint8_t foreign[] = {0xc1, 0xc7, 0xc8, 0xc9, 0xca, 0xcb, 0xd4,
                                      0xd5, 0xd6, 0xd7, 0xd8, 0xde, 0xdf};
    uint8_t bytes[32] = {0};

    for (size_t i = 0; i < COUNT_OF(foreign); i++) {
        bytes[0] = foreign[i];
        assert_int_equal(value_read(bytes, sizeof(bytes)).type, VALUE_NONE);
    }
    for (unsigned map = 0x80; map <= 0x8f; map++) {
        bytes[0] = (uint8_t)map;
        assert_int_equal(value_read(bytes, sizeof(bytes)).type, VALUE_NONE);
    }
}

static void
value_names_are_for_readers(void **state)
{
    assert_string_equal(value_name(VALUE_ARRAY), "array");
    assert_string_equal(value_name(VALUE_NONE), "nothing");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value_of_every_form_is_read),
        cmocka_unit_test(value_that_is_cut_off_is_none),
        cmocka_unit_test(value_of_foreign_types_is_none),
        cmocka_unit_test(value_names_are_for_readers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
