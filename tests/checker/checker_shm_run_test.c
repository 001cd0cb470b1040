/* tests/checker/checker_shm_run_test.c - checker/checker_shm_run.c */

#include <string.h>

#include "algorithms/algorithms.h"
#include "base/error.h"
#include "check.h"
#include "checker/shm_vrank.h"

static const struct checker_case sum = {
    .algorithm = &algorithm_allreduce_flat,
    .goal = CHECKER_ALLREDUCE,
    .shape = {.size = 3, .count = 9, .granule = 1, .n_slot = 4},
    .n_schedules = 4,
};

static void
checker_shm_run_right_plan_is_proved(void **state)
{
    (void)state;
    assert_int_equal(checker_shm_run_verify_algorithm(&sum), HOOP_OK);
}

static uint32_t
rounds_by_rank(const struct plan_shape *shape)
{
    return algorithm_allreduce_flat.n_rounds(shape) - shape->rank / 2;
}

static void
checker_shm_run_ranks_with_unequal_rounds_are_refused(void **state)
{
    struct algorithm algorithm = algorithm_allreduce_flat;
    struct checker_case scenario = sum;

    (void)state;
    algorithm.n_rounds = rounds_by_rank;
    scenario.algorithm = &algorithm;
    assert_int_equal(checker_shm_run_verify_algorithm(&scenario),
                     HOOP_E_INTERNAL);
    assert_non_null(strstr(error_text(), "rank 2 has 2 rounds"));
}

/* The last rank brings itself in first. */
static void
other_brackets(struct plan *plan,
               const struct plan_shape *shape,
               uint32_t round)
{
    algorithm_allreduce_flat.plan_round(plan, shape, round);
    if (shape->rank == 0) {
        const struct plan_step step = plan->steps[2];

        plan->steps[2] = plan->steps[3];
        plan->steps[3] = step;
        plan->steps[2].is_final = false;
        plan->steps[3].is_final = true;
    }
}

static void
checker_shm_run_other_brackets_on_one_rank_are_found(void **state)
{
    struct algorithm algorithm = algorithm_allreduce_flat;
    struct checker_case scenario = sum;

    (void)state;
    algorithm.plan_round = other_brackets;
    scenario.algorithm = &algorithm;
    assert_int_equal(checker_shm_run_verify_algorithm(&scenario), HOOP_OK);
    scenario.arithmetic = ARITHMETIC_HASH;
    assert_int_equal(checker_shm_run_verify_algorithm(&scenario),
                     HOOP_E_INTERNAL);
    assert_non_null(strstr(error_text(), "otherwise"));
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(checker_shm_run_right_plan_is_proved),
        cmocka_unit_test(checker_shm_run_ranks_with_unequal_rounds_are_refused),
        cmocka_unit_test(checker_shm_run_other_brackets_on_one_rank_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
