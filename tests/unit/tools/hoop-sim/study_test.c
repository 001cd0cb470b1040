/* tests/unit/tools/hoop-sim/study_test.c - hoop-sim/study.c */

#include <string.h>

#include "check.h"
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

    (void)state;
    assert_int_equal(study_add(&study, &options, &small, &first), HOOP_OK);
    assert_int_equal(first, 0);
    assert_int_equal(study_add(&study, &options, &large, &first), HOOP_OK);
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

    (void)state;
    options.algorithms[options.n_algorithms++] = "ring";
    assert_int_equal(study_add(&study, &options, &asked, &first), HOOP_OK);
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

    (void)state;
    assert_int_equal(study_add(&study, &options, &asked, &first),
                     HOOP_E_INVALID);
    assert_non_null(strstr(hoop_error_text(), "cannot simulate"));
    study_deinit(&study);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fastest_of_a_group_is_marked),
        cmocka_unit_test(only_what_was_chosen_is_run),
        cmocka_unit_test(what_the_simulator_refuses_is_passed_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
