/* tests/unit/worker/algorithms/barrier_dissemination_test.c - algorithms/barrier_dissemination.c */

#include "algorithms/algorithms.h"
#include "check.h"

static const struct algorithm *const barrier = &algorithm_barrier_dissemination;

static void
barrier_dissemination_rounds_are_log2_rounded_up(void **state)
{
    static const uint32_t sizes_and_rounds[][2] = {
        {1, 0}, {2, 1}, {3, 2}, {4, 2}, {5, 3}, {64, 6}, {65, 7}, {65536, 16}};

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        const struct plan_shape shape = {.size = sizes_and_rounds[i][0]};
        const uint32_t rounds = sizes_and_rounds[i][1];

        assert_int_equal(barrier->n_rounds(&shape), rounds);
        assert_int_equal(barrier->n_scratch(&shape), rounds ? rounds + 1 : 0);
    }
}

static void
barrier_dissemination_distance_doubles(void **state)
{
    const struct plan_shape shape = {.rank = 6, .size = 7};
    struct plan plan = {0};

    (void)state;
    for (uint32_t round = 0; round < 3; round++)
        barrier->plan_round(&plan, &shape, round);
    assert_int_equal(plan.n_steps, 6);
    assert_int_equal(plan.steps[0].peer, 0);
    assert_int_equal(plan.steps[1].peer, 5);
    assert_int_equal(plan.steps[2].peer, 1);
    assert_int_equal(plan.steps[3].peer, 4);
    assert_int_equal(plan.steps[4].peer, 3);
    assert_int_equal(plan.steps[5].peer, 2);
    /* What was heard in one round is said in the next. */
    assert_int_equal(plan.steps[1].to.first, plan.steps[2].from.first);
    plan_deinit(&plan);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(barrier_dissemination_rounds_are_log2_rounded_up),
        cmocka_unit_test(barrier_dissemination_distance_doubles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
