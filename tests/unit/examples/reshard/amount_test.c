/* tests/unit/examples/reshard/amount_test.c - reshard/amount.c */

#include "check.h"
#include "reshard/amount.h"

static void
amount_bytes_with_a_unit_are_multiplied(void **state)
{
    static const struct {
        const char *text;
        uint64_t n_bytes;
    } cases[] = {
        {"1", 1},
        {"1000", 1000},
        {"64K", 64 * 1024},
        {"256M", 256 * 1024 * 1024},
        {"1g", (uint64_t)1 << 30},
        {"1024G", (uint64_t)1 << 40},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t n_bytes = 0;

        assert_true(amount_bytes_parse(cases[i].text, &n_bytes));
        assert_int_equal(n_bytes, cases[i].n_bytes);
    }
}

static void
amount_bytes_that_are_none_are_refused(void **state)
{
    static const char *const texts[] = {
        "",   "0",  "-1",   "K",    "1T",    "1KK",
        " 1", "1 ", "0x10", "1.5M", "1025G", "99999999999999999999999"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        uint64_t n_bytes = 7;

        if (amount_bytes_parse(texts[i], &n_bytes) || n_bytes != 7)
            fail_msg("%s", texts[i]);
    }
}

static void
amount_list_ends_where_the_numbers_do(void **state)
{
    struct amount_list list;
    const char *rest = NULL;

    (void)state;
    assert_true(amount_list_parse("2x4:S0", &list, &rest));
    assert_int_equal(list.n_numbers, 2);
    assert_int_equal(list.numbers[0], 2);
    assert_int_equal(list.numbers[1], 4);
    assert_string_equal(rest, ":S0");
    assert_true(amount_list_parse("1x2x3x4x5x6x7x8", &list, &rest));
    assert_int_equal(list.n_numbers, AMOUNT_LIST_MAX);
    assert_string_equal(rest, "");
}

static void
amount_list_that_is_none_is_refused(void **state)
{
    static const char *const texts[] = {"",      "x",
                                        "x2",    "2x",
                                        "2x:S0", "0x2",
                                        "2x0",   "1x2x3x4x5x6x7x8x9",
                                        "2xx2",  "99999999999999"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct amount_list list;
        const char *rest = NULL;

        if (amount_list_parse(texts[i], &list, &rest) || rest)
            fail_msg("%s", texts[i]);
    }
}

static void
amount_describe_takes_the_largest_unit(void **state)
{
    (void)state;
    assert_string_equal(amount_describe(0).text, "0 B");
    assert_string_equal(amount_describe(1023).text, "1023 B");
    assert_string_equal(amount_describe(1024).text, "1 KiB");
    assert_string_equal(amount_describe(256 * 1024 * 1024).text, "256 MiB");
    assert_string_equal(amount_describe(89478485).text, "85.33 MiB");
    assert_string_equal(amount_describe((uint64_t)1 << 40).text, "1 TiB");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amount_bytes_with_a_unit_are_multiplied),
        cmocka_unit_test(amount_bytes_that_are_none_are_refused),
        cmocka_unit_test(amount_list_ends_where_the_numbers_do),
        cmocka_unit_test(amount_list_that_is_none_is_refused),
        cmocka_unit_test(amount_describe_takes_the_largest_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
