/* tests/unit/tools/hoop-sim/study_test.c - hoop-sim/study.c and the files
 * beside it */

#include <math.h>
#include <string.h>

#include "check.h"
#include "hoop-sim/log_scale.h"
#include "hoop-sim/number_list.h"
#include "hoop-sim/study.h"

static const struct hoop_machine machine = {
    .send_us = 1,
    .receive_us = 1,
    .latency_us = 20,
    .link_gbs = 1,
    .n_processors = 2,
};

static struct options
options_make(void)
{
    return (struct options){
        .n_per_host = 1,
        .element_size = 4,
        .machine = machine,
    };
}

static void
fastest_of_a_group_is_marked(void **state)
{
    const struct options options = options_make();
    const struct study_point small = {
        .collective = "allreduce", .n_ranks = 64, .n_bytes = 8};
    const struct study_point large = {
        .collective = "allreduce", .n_ranks = 64, .n_bytes = 64 << 20};
    struct study study = {0};
    size_t first = 1;
    size_t n_best = 0;

    assert_ok(study_add(&study, &options, &small, &first));
    assert_int_equal(first, 0);
    assert_ok(study_add(&study, &options, &large, &first));
    assert_true(first >= 2);
    for (size_t i = 0; i < study.n_points; i++) {
        const struct study_point *point = &study.points[i];

        n_best += point->is_best;
        if (strcmp(point->algorithm, "ring") == 0 && i < first)
            assert_false(point->is_best);
    }
    assert_int_equal(n_best, 2);
    study_deinit(&study);
}

static void
only_what_was_chosen_is_run(void **state)
{
    struct options options = options_make();
    const struct study_point asked = {
        .collective = "allreduce", .n_ranks = 8, .n_bytes = 8};
    struct study study = {0};
    size_t first = 0;

    options.algorithms[options.n_algorithms++] = "ring";
    assert_ok(study_add(&study, &options, &asked, &first));
    assert_int_equal(study.n_points, 1);
    assert_string_equal(study.points[0].algorithm, "ring");
    assert_true(study.points[0].is_best);
    study_deinit(&study);
}

static void
what_the_simulator_refuses_is_passed_on(void **state)
{
    const struct options options = options_make();
    const struct study_point asked = {
        .collective = "allreduce", .n_ranks = UINT32_MAX, .n_bytes = 8};
    struct study study = {0};
    size_t first = 0;

    assert_int_equal(study_add(&study, &options, &asked, &first),
                     HOOP_E_INVALID);
    assert_non_null(strstr(hoop_error_text(), "cannot simulate"));
    study_deinit(&study);
}

/* These cases test hoop-sim/log_scale.c. */

static void
places_are_even_for_equal_factors(void **state)
{
    const struct log_scale scale = {
        .low = 1, .high = 10000, .begin = 300, .end = 100};

    assert_true(fabs(log_scale_place(&scale, 1) - 300) < 1e-6);
    assert_true(fabs(log_scale_place(&scale, 10) - 250) < 1e-6);
    assert_true(fabs(log_scale_place(&scale, 10000) - 100) < 1e-6);
}

static void
single_value_stands_in_the_middle(void **state)
{
    const struct log_scale scale = {
        .low = 7, .high = 7, .begin = 0, .end = 100};

    assert_true(fabs(log_scale_place(&scale, 7) - 50) < 1e-6);
}

static void
decades_enclose_a_value(void **state)
{
    assert_true(fabs(log_scale_decade_below(47) - 10) < 1e-6);
    assert_true(fabs(log_scale_decade_above(47) - 100) < 1e-6);
    assert_true(fabs(log_scale_decade_below(1000) - 1000) < 1e-6);
    assert_true(fabs(log_scale_decade_above(1000) - 1000) < 1e-6);
    assert_true(fabs(log_scale_decade_below(0.03) - 0.01) < 1e-9);
}

static void
times_and_counts_have_short_names(void **state)
{
    char text[LOG_SCALE_TEXT];

    log_scale_time_text(0.1, text);
    assert_string_equal(text, "0.1 us");
    log_scale_time_text(pow(10, 3), text);
    assert_string_equal(text, "1 ms");
    log_scale_time_text(1e7, text);
    assert_string_equal(text, "10 s");
    log_scale_count_text(4096, text);
    assert_string_equal(text, "4096");
    log_scale_count_text(100000, text);
    assert_string_equal(text, "100k");
}

/* These cases test hoop-sim/number_list.c. */

static void
expect(const char *text, const size_t *numbers, size_t n_numbers)
{
    struct number_list list = {0};

    assert_ok(number_list_parse(text, &list));
    assert_int_equal(list.n_numbers, n_numbers);
    for (size_t i = 0; i < n_numbers; i++)
        assert_int_equal(list.numbers[i], numbers[i]);
}

static void
numbers_and_ranges_are_listed_in_order(void **state)
{
    expect("7", (const size_t[]){7}, 1);
    expect("2,1K", (const size_t[]){2, 1024}, 2);
    expect("8..64", (const size_t[]){8, 16, 32, 64}, 4);
    expect("8..512:8,3", (const size_t[]){8, 64, 512, 3}, 4);
    expect("5..5", (const size_t[]){5}, 1);
}

static void
end_of_a_range_is_always_included(void **state)
{
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

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (number_list_parse(wrong[i], &list) != HOOP_E_INVALID)
            fail_msg("accepted: %s", wrong[i]);
    assert_int_equal(list.n_numbers, 77);
}

static void
too_many_numbers_are_refused(void **state)
{
    struct number_list list = {0};

    assert_int_equal(number_list_parse("1..1G,1..1G,1..1G", &list),
                     HOOP_E_RANGE);
    assert_int_equal(number_list_parse("99999999999999999999", &list),
                     HOOP_E_RANGE);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fastest_of_a_group_is_marked),
        cmocka_unit_test(only_what_was_chosen_is_run),
        cmocka_unit_test(what_the_simulator_refuses_is_passed_on),
        cmocka_unit_test(places_are_even_for_equal_factors),
        cmocka_unit_test(single_value_stands_in_the_middle),
        cmocka_unit_test(decades_enclose_a_value),
        cmocka_unit_test(times_and_counts_have_short_names),
        cmocka_unit_test(numbers_and_ranges_are_listed_in_order),
        cmocka_unit_test(end_of_a_range_is_always_included),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(too_many_numbers_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
