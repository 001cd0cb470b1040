/* tests/unit/worker/algorithms/exscan_doubling_test.c - algorithms/exscan_doubling.c */

#include "algorithms/algorithms.h"
#include "check.h"

static const struct algorithm *const doubling = &algorithm_exscan_doubling;

/* Steps of one rank of four. */
static void
doubling_plan(struct plan *plan, uint32_t rank)
{
    const struct plan_shape shape = {.rank = rank, .size = 4, .count = 5};

    plan_clear(plan);
    for (uint32_t round = 0; round < doubling->n_rounds(&shape); round++)
        doubling->plan_round(plan, &shape, round);
}

static void
exscan_doubling_first_leaves_its_output(void **state)
{
    struct plan plan = {0};

    (void)state;
    doubling_plan(&plan, 0);
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(plan.steps[0].to.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[1].kind, PLAN_SEND);
    assert_int_equal(plan.steps[2].kind, PLAN_SEND);
    assert_int_equal(plan.steps[2].peer, 2);
    plan_deinit(&plan);
}

/* Nobody to send to: no sum is made beside the result. */
static void
exscan_doubling_last_makes_its_result_only(void **state)
{
    struct plan plan = {0};

    (void)state;
    doubling_plan(&plan, 3);
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[0].kind, PLAN_STORE);
    assert_int_equal(plan.steps[0].to.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[1].kind, PLAN_STORE);
    assert_int_equal(plan.steps[1].to.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[2].kind, PLAN_COMBINE);
    assert_int_equal(plan.steps[2].to.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[2].side, PLAN_ARRIVED_LEFT);
    plan_deinit(&plan);
}

/* What came is combined with the sum and with the result. */
static void
exscan_doubling_middle_keeps_sum_and_result(void **state)
{
    struct plan plan = {0};
    size_t n_combines = 0;

    (void)state;
    doubling_plan(&plan, 1);
    for (size_t i = 0; i < plan.n_steps; i++) {
        n_combines += plan.steps[i].kind == PLAN_COMBINE ? 1 : 0;
        assert_false(plan.steps[i].is_final);
    }
    assert_int_equal(n_combines, 1);
    plan_deinit(&plan);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(exscan_doubling_first_leaves_its_output),
        cmocka_unit_test(exscan_doubling_last_makes_its_result_only),
        cmocka_unit_test(exscan_doubling_middle_keeps_sum_and_result),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
