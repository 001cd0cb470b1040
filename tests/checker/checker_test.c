/* tests/checker/checker_test.c - checker/checker.c */

#include <string.h>

#include "algorithms/algorithms.h"
#include "base/error.h"
#include "check.h"
#include "checker/checker.h"

static const struct checker_case gather = {
    .algorithm = &algorithm_allgather_ring,
    .goal = CHECKER_ALLGATHER,
    .shape = {.size = 3, .count = 2, .granule = 1},
    .n_schedules = 3,
};

static void
checker_verify_right_algorithm_is_ok(void **state)
{
    (void)state;
    assert_int_equal(checker_verify_algorithm(&gather), HOOP_OK);
}

static void
checker_verify_algorithm_for_another_goal_is_refused(void **state)
{
    struct checker_case scenario = gather;

    (void)state;
    scenario.goal = CHECKER_ALLREDUCE;
    assert_int_equal(checker_verify_algorithm(&scenario), HOOP_E_INTERNAL);
    assert_non_null(strstr(error_text(), "leaves its buffer"));
}

static void
checker_verify_no_steps_at_all_is_refused(void **state)
{
    struct checker_case scenario = gather;

    (void)state;
    scenario.algorithm = &algorithm_barrier_dissemination;
    scenario.goal = CHECKER_BROADCAST;
    assert_int_equal(checker_verify_algorithm(&scenario), HOOP_E_INTERNAL);
    assert_non_null(strstr(error_text(), "wrong at the end"));
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(checker_verify_right_algorithm_is_ok),
        cmocka_unit_test(checker_verify_algorithm_for_another_goal_is_refused),
        cmocka_unit_test(checker_verify_no_steps_at_all_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
