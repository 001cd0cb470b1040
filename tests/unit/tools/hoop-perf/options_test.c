/* tests/unit/tools/hoop-perf/options_test.c - hoop-perf/options.c and the
 * files beside it */

#include "check.h"
#include "hoop-perf/byte_size.h"
#include "hoop-perf/options.h"

static size_t
sizes_of(size_t min_bytes,
         size_t max_bytes,
         size_t out_sizes[static OPTIONS_SIZES_MAX])
{
    const struct options options = {
        .min_bytes = min_bytes,
        .max_bytes = max_bytes,
        .factor = 8,
    };

    return options_sizes(&options, out_sizes);
}

static void
options_sizes_multiply_up_to_max(void **state)
{
    size_t sizes[OPTIONS_SIZES_MAX];

    assert_int_equal(sizes_of(8, 512, sizes), 3);
    assert_int_equal(sizes[0], 8);
    assert_int_equal(sizes[2], 512);
    assert_int_equal(sizes_of(8, 511, sizes), 2);
    assert_int_equal(sizes_of(100, 100, sizes), 1);
}

static void
options_sizes_from_zero_and_to_the_end_are_bounded(void **state)
{
    size_t sizes[OPTIONS_SIZES_MAX];

    assert_int_equal(sizes_of(0, 8, sizes), 3);
    assert_int_equal(sizes[1], 1);
    assert_int_equal(sizes_of(0, 0, sizes), 1);
    assert_int_equal(sizes_of(1, SIZE_MAX, sizes), 22);
}

static void
options_are_taken_from_the_command_line(void **state)
{
    char list[] = "reduce,barrier";
    char *arguments[] = {"hoop-perf",
                         "--op",
                         list,
                         "--min",
                         "1K",
                         "--max",
                         "1M",
                         "--dtype",
                         "bf16",
                         "--check",
                         "--reduce",
                         "max",
                         "--inject-wrong",
                         "2:7",
                         NULL};
    struct options options;

    options_parse(14, arguments, &options);
    assert_int_equal(options.n_chosen, 2);
    assert_string_equal(options.chosen[0]->name, "reduce");
    assert_string_equal(options.chosen[1]->name, "barrier");
    assert_int_equal(options.min_bytes, 1024);
    assert_int_equal(options.max_bytes, 1 << 20);
    assert_int_equal(options.dtype, HOOP_BFLOAT16);
    assert_int_equal(options.reduce_op, HOOP_MAX);
    assert_true(options.has_check && options.injection.is_wanted);
    assert_int_equal(options.injection.rank, 2);
    assert_int_equal(options.injection.index, 7);
}

static void
options_of_comparing_are_taken(void **state)
{
    char *arguments[] = {"hoop-perf", "--algorithms", "auto,ring", "--rounds",
                         "3",         "--explain",    NULL};
    char *none[] = {"hoop-perf", NULL};
    struct options options;

    options_parse(6, arguments, &options);
    assert_string_equal(options.algorithms, "auto,ring");
    assert_int_equal(options.n_rounds, 3);
    assert_true(options.only_explains);
    options_parse(1, none, &options);
    assert_null(options.algorithms);
    assert_int_equal(options.n_rounds, 11);
    assert_false(options.only_explains);
}

static void
options_all_is_every_operation(void **state)
{
    char all[] = "all";
    char *arguments[] = {"hoop-perf", "-o", all, NULL};
    struct options options;

    options_parse(3, arguments, &options);
    assert_int_equal(options.n_chosen, OPERATION_COUNT);
}

static void
options_tune_measures_all_that_have_a_choice(void **state)
{
    char all[] = "all";
    char file[] = "times";
    char *arguments[] = {"hoop-perf", "-o", all, "--tune", file, NULL};
    struct options options;

    options_parse(5, arguments, &options);
    assert_string_equal(options.tune, "times");
    assert_string_equal(options.algorithms, "all");
    assert_int_equal(options.n_chosen, 10);
}

/* These cases test hoop-perf/byte_size.c. */

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

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t n_bytes = 1;
        assert_ok(byte_size_parse(cases[i].text, &n_bytes));
        assert_int_equal(n_bytes, cases[i].n_bytes);
    }
}

static void
byte_size_nonsense_is_refused(void **state)
{
    static const char *const cases[] = {"",   "K",  "-1",  "8X",  "8KK",
                                        "1 ", " 1", "0x8", "8Kq", "1.5M"};

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

    assert_int_equal(byte_size_parse("99999999999999999999", &n_bytes),
                     HOOP_E_RANGE);
    assert_int_equal(byte_size_parse("18446744073709551615K", &n_bytes),
                     HOOP_E_RANGE);
}

static void
byte_size_format_is_shortest_and_exact(void **state)
{
    char text[BYTE_SIZE_TEXT];

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
        cmocka_unit_test(options_sizes_multiply_up_to_max),
        cmocka_unit_test(options_sizes_from_zero_and_to_the_end_are_bounded),
        cmocka_unit_test(options_are_taken_from_the_command_line),
        cmocka_unit_test(options_of_comparing_are_taken),
        cmocka_unit_test(options_all_is_every_operation),
        cmocka_unit_test(options_tune_measures_all_that_have_a_choice),
        cmocka_unit_test(byte_size_units_multiply),
        cmocka_unit_test(byte_size_nonsense_is_refused),
        cmocka_unit_test(byte_size_overflow_is_refused),
        cmocka_unit_test(byte_size_format_is_shortest_and_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
