/* tests/unit/tools/hoop-sim/number_list_test.c - hoop-sim/number_list.c */

#include "check.h"
#include "hoop-sim/number_list.h"

static void
expect(const char *text, const size_t *numbers, size_t n_numbers)
{
    struct number_list list = {0};

    assert_int_equal(number_list_parse(text, &list), HOOP_OK);
    assert_int_equal(list.n_numbers, n_numbers);
    for (size_t i = 0; i < n_numbers; i++)
        assert_int_equal(list.numbers[i], numbers[i]);
}

static void
numbers_and_ranges_are_listed_in_order(void **state)
{
    (void)state;
    expect("7", (const size_t[]){7}, 1);
    expect("2,1K", (const size_t[]){2, 1024}, 2);
    expect("8..64", (const size_t[]){8, 16, 32, 64}, 4);
    expect("8..512:8,3", (const size_t[]){8, 64, 512, 3}, 4);
    expect("5..5", (const size_t[]){5}, 1);
}

static void
end_of_a_range_is_always_included(void **state)
{
    (void)state;
    expect("8..100:4", (const size_t[]){8, 32, 100}, 3);
    expect("3..4", (const size_t[]){3, 4}, 2);
}

static void
what_is_no_list_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",    ",",      "8,",   "0",       "-3",       "x",   "8..",
        "..8", "64..8",  "8:2",  "8..64:1", "8..64:x",  "8 9", "8..16..32",
        "1T",  "8...64", "1,,2", "8..64:",  "2.5..8.5",
    };
    struct number_list list = {.n_numbers = 77};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (number_list_parse(wrong[i], &list) != HOOP_E_INVALID)
            fail_msg("accepted: %s", wrong[i]);
    assert_int_equal(list.n_numbers, 77);
}

static void
too_many_numbers_are_refused(void **state)
{
    struct number_list list = {0};

    (void)state;
    assert_int_equal(number_list_parse("1..1G,1..1G,1..1G", &list),
                     HOOP_E_RANGE);
    assert_int_equal(number_list_parse("99999999999999999999", &list),
                     HOOP_E_RANGE);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_ranges_are_listed_in_order),
        cmocka_unit_test(end_of_a_range_is_always_included),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(too_many_numbers_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
