/* tests/unit/worker/algorithms/scan_chain_test.c - algorithms/scan_chain.c */

#include "algorithms/algorithms.h"
#include "check.h"

static const struct algorithm *const chain = &algorithm_scan_chain;

static void
chain_plan(struct plan *plan, const struct plan_shape *shape)
{
    plan_clear(plan);
    for (uint32_t round = 0; round < chain->n_rounds(shape); round++)
        chain->plan_round(plan, shape, round);
}

static void
scan_chain_combines_to_the_right_and_sends_on(void **state)
{
    const struct plan_shape shape = {.rank = 1, .size = 3, .count = 5};
    struct plan plan = {0};

    (void)state;
    chain_plan(&plan, &shape);
    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].kind, PLAN_REDUCE);
    assert_int_equal(plan.steps[0].peer, 0);
    assert_int_equal(plan.steps[0].side, PLAN_ARRIVED_LEFT);
    assert_false(plan.steps[0].is_final);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[1].kind, PLAN_SEND);
    assert_int_equal(plan.steps[1].peer, 2);
    assert_int_equal(plan.steps[1].from.buffer, PLAN_OUTPUT);
    plan_deinit(&plan);
}

static void
scan_chain_first_copies_unless_in_place(void **state)
{
    struct plan_shape shape = {.rank = 0, .size = 3, .count = 5};
    struct plan plan = {0};

    (void)state;
    chain_plan(&plan, &shape);
    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(plan.steps[1].from.buffer, PLAN_INPUT);
    shape.is_in_place = true;
    chain_plan(&plan, &shape);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_OUTPUT);
    plan_deinit(&plan);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(scan_chain_combines_to_the_right_and_sends_on),
        cmocka_unit_test(scan_chain_first_copies_unless_in_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
