/* tests/unit/tools/hoop-perf/options_test.c - hoop-perf/options.c */

#include "check.h"
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

    (void)state;
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

    (void)state;
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

    (void)state;
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

    (void)state;
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

    (void)state;
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

    (void)state;
    options_parse(5, arguments, &options);
    assert_string_equal(options.tune, "times");
    assert_string_equal(options.algorithms, "all");
    assert_int_equal(options.n_chosen, 10);
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
