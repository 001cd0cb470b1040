/* tests/unit/worker/algorithms/reduce_chain_test.c - algorithms/reduce_chain.c */

#include "algorithms/algorithms.h"
#include "check.h"

static const struct algorithm *const chain = &algorithm_reduce_chain;

/* Steps of one rank of four, root 2, in place; the chain is 3 0 1 2. */
static struct plan_shape
chain_plan(struct plan *plan, uint32_t rank)
{
    const struct plan_shape shape = {
        .rank = rank, .size = 4, .root = 2, .count = 5, .is_in_place = true};

    plan_clear(plan);
    for (uint32_t round = 0; round < chain->n_rounds(&shape); round++)
        chain->plan_round(plan, &shape, round);
    return shape;
}

static void
reduce_chain_first_sends_its_own(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = chain_plan(&plan, 3);

    (void)state;
    assert_int_equal(chain->n_scratch(&shape), 0);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_SEND);
    assert_int_equal(plan.steps[0].peer, 0);
    plan_deinit(&plan);
}

static void
reduce_chain_middle_combines_into_scratch(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = chain_plan(&plan, 0);

    (void)state;
    assert_int_equal(chain->n_scratch(&shape), 5);
    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].kind, PLAN_REDUCE);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[0].to.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[0].side, PLAN_OWN_LEFT);
    assert_false(plan.steps[0].is_final);
    assert_int_equal(plan.steps[1].from.buffer, PLAN_SCRATCH);
    plan_deinit(&plan);
}

static void
reduce_chain_root_finishes_in_output(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = chain_plan(&plan, 2);

    (void)state;
    assert_int_equal(chain->n_scratch(&shape), 0);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_REDUCE);
    assert_int_equal(plan.steps[0].peer, 1);
    assert_int_equal(plan.steps[0].to.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[0].side, PLAN_ARRIVED_LEFT);
    assert_true(plan.steps[0].is_final);
    plan_deinit(&plan);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduce_chain_first_sends_its_own),
        cmocka_unit_test(reduce_chain_middle_combines_into_scratch),
        cmocka_unit_test(reduce_chain_root_finishes_in_output),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
