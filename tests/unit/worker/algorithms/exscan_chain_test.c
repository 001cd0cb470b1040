/* tests/unit/worker/algorithms/exscan_chain_test.c - algorithms/exscan_chain.c */

#include "algorithms/algorithms.h"
#include "check.h"

static const struct algorithm *const chain = &algorithm_exscan_chain;

/* Steps of one rank of three, in place. */
static struct plan_shape
chain_plan(struct plan *plan, uint32_t rank)
{
    const struct plan_shape shape = {
        .rank = rank, .size = 3, .count = 5, .is_in_place = true};

    plan_clear(plan);
    for (uint32_t round = 0; round < chain->n_rounds(&shape); round++)
        chain->plan_round(plan, &shape, round);
    return shape;
}

static void
exscan_chain_first_only_sends(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = chain_plan(&plan, 0);

    (void)state;
    assert_int_equal(chain->n_scratch(&shape), 0);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_SEND);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_OUTPUT);
    plan_deinit(&plan);
}

static void
exscan_chain_middle_makes_what_it_sends_in_scratch(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = chain_plan(&plan, 1);

    (void)state;
    assert_int_equal(chain->n_scratch(&shape), 5);
    assert_int_equal(plan.n_steps, 4);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(plan.steps[1].kind, PLAN_STORE);
    assert_int_equal(plan.steps[1].to.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[2].kind, PLAN_COMBINE);
    assert_int_equal(plan.steps[2].side, PLAN_ARRIVED_LEFT);
    assert_int_equal(plan.steps[2].to.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[3].from.buffer, PLAN_SCRATCH);
    plan_deinit(&plan);
}

static void
exscan_chain_last_only_takes(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = chain_plan(&plan, 2);

    (void)state;
    assert_int_equal(chain->n_scratch(&shape), 0);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_STORE);
    plan_deinit(&plan);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(exscan_chain_first_only_sends),
        cmocka_unit_test(exscan_chain_middle_makes_what_it_sends_in_scratch),
        cmocka_unit_test(exscan_chain_last_only_takes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
