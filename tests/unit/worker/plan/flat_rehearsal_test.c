/* tests/unit/worker/plan/flat_rehearsal_test.c - plan/flat_rehearsal.c */

#include <string.h>

#include "base/error.h"
#include "check.h"
#include "plan/algorithms.h"
#include "plan/flat_rehearsal.h"

static const struct checker_case sum = {
    .algorithm = &algorithm_allreduce_flat,
    .goal = CHECKER_ALLREDUCE,
    .shape = {.size = 3, .count = 9, .granule = 1, .n_slot = 4},
    .n_schedules = 4,
};

static void
flat_rehearsal_right_plan_is_proved(void **state)
{
    (void)state;
    assert_int_equal(flat_rehearsal_prove(&sum), HOOP_OK);
}

static uint32_t
rounds_by_rank(const struct plan_shape *shape)
{
    return algorithm_allreduce_flat.n_rounds(shape) - shape->rank / 2;
}

static void
flat_rehearsal_ranks_with_unequal_rounds_are_refused(void **state)
{
    struct algorithm algorithm = algorithm_allreduce_flat;
    struct checker_case proof = sum;

    (void)state;
    algorithm.n_rounds = rounds_by_rank;
    proof.algorithm = &algorithm;
    assert_int_equal(flat_rehearsal_prove(&proof), HOOP_E_INTERNAL);
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
flat_rehearsal_other_brackets_on_one_rank_are_found(void **state)
{
    struct algorithm algorithm = algorithm_allreduce_flat;
    struct checker_case proof = sum;

    (void)state;
    algorithm.plan_round = other_brackets;
    proof.algorithm = &algorithm;
    assert_int_equal(flat_rehearsal_prove(&proof), HOOP_OK);
    proof.arithmetic = ARITHMETIC_TANGLE;
    assert_int_equal(flat_rehearsal_prove(&proof), HOOP_E_INTERNAL);
    assert_non_null(strstr(error_text(), "otherwise"));
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(flat_rehearsal_right_plan_is_proved),
        cmocka_unit_test(flat_rehearsal_ranks_with_unequal_rounds_are_refused),
        cmocka_unit_test(flat_rehearsal_other_brackets_on_one_rank_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
