/* tests/unit/worker/algorithms/broadcast_chain_test.c - algorithms/broadcast_chain.c */

#include "algorithms/algorithms.h"
#include "check.h"

/* Steps of one rank of four, root 2; the chain is 2 3 0 1. */
static void
chain_plan(struct plan *plan, uint32_t rank)
{
    const struct plan_shape shape = {
        .rank = rank, .size = 4, .root = 2, .count = 5};
    const struct algorithm *chain = &algorithm_broadcast_chain;

    plan_clear(plan);
    for (uint32_t round = 0; round < chain->n_rounds(&shape); round++)
        chain->plan_round(plan, &shape, round);
}

static void
broadcast_chain_root_copies_and_sends_its_input(void **state)
{
    struct plan plan = {0};

    (void)state;
    chain_plan(&plan, 2);
    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(plan.steps[1].kind, PLAN_SEND);
    assert_int_equal(plan.steps[1].peer, 3);
    assert_int_equal(plan.steps[1].from.buffer, PLAN_INPUT);
    plan_deinit(&plan);
}

static void
broadcast_chain_middle_passes_on_and_last_keeps(void **state)
{
    struct plan plan = {0};

    (void)state;
    chain_plan(&plan, 0);
    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].kind, PLAN_STORE);
    assert_int_equal(plan.steps[0].peer, 3);
    assert_int_equal(plan.steps[1].kind, PLAN_SEND);
    assert_int_equal(plan.steps[1].peer, 1);
    assert_int_equal(plan.steps[1].from.count, 5);
    chain_plan(&plan, 1);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_STORE);
    plan_deinit(&plan);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(broadcast_chain_root_copies_and_sends_its_input),
        cmocka_unit_test(broadcast_chain_middle_passes_on_and_last_keeps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
