/* tests/unit/tools/hoop-perf/byte_size_test.c - hoop-perf/byte_size.c */

#include "check.h"
#include "hoop-perf/byte_size.h"

static void
byte_size_units_multiply(void **state)
{
    static const struct {
        const char *text;
        size_t n_bytes;
    } cases[] = {
        {"0", 0},
        {"8", 8},
        {"64K", 64 << 10},
        {"64k", 64 << 10},
        {"256M", 256 << 20},
        {"256MiB", 256 << 20},
        {"1kb", 1 << 10},
        {"5G", (size_t)5 << 30},
        {"12B", 12},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t n_bytes = 1;
        assert_int_equal(byte_size_parse(cases[i].text, &n_bytes), HOOP_OK);
        assert_int_equal(n_bytes, cases[i].n_bytes);
    }
}

static void
byte_size_nonsense_is_refused(void **state)
{
    static const char *const cases[] = {"",   "K",  "-1",  "8X",  "8KK",
                                        "1 ", " 1", "0x8", "8Kq", "1.5M"};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t n_bytes = 77;
        assert_int_equal(byte_size_parse(cases[i], &n_bytes), HOOP_E_INVALID);
        assert_int_equal(n_bytes, 77);
    }
}

static void
byte_size_overflow_is_refused(void **state)
{
    size_t n_bytes = 0;

    (void)state;
    assert_int_equal(byte_size_parse("99999999999999999999", &n_bytes),
                     HOOP_E_RANGE);
    assert_int_equal(byte_size_parse("18446744073709551615K", &n_bytes),
                     HOOP_E_RANGE);
}

static void
byte_size_format_is_shortest_and_exact(void **state)
{
    char text[BYTE_SIZE_TEXT];

    (void)state;
    byte_size_format(0, text);
    assert_string_equal(text, "0");
    byte_size_format(1000, text);
    assert_string_equal(text, "1000");
    byte_size_format(64 << 10, text);
    assert_string_equal(text, "64K");
    byte_size_format((64 << 20) + 1024, text);
    assert_string_equal(text, "65537K");
    byte_size_format((size_t)2 << 40, text);
    assert_string_equal(text, "2048G");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(byte_size_units_multiply),
        cmocka_unit_test(byte_size_nonsense_is_refused),
        cmocka_unit_test(byte_size_overflow_is_refused),
        cmocka_unit_test(byte_size_format_is_shortest_and_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
