/* tests/unit/worker/algorithms/allreduce_flat_test.c - algorithms/allreduce_direct.c */

#include "algorithms/algorithms.h"
#include "base/cleanup.h"
#include "check.h"

enum place {
    PLACE_APART,
    PLACE_SAME,
};

/* One round of one rank of three. */
static void
plan_of(struct plan *plan, uint32_t rank, enum place place)
{
    const struct plan_shape shape = {
        .rank = rank,
        .size = 3,
        .count = 5,
        .granule = 1,
        .n_slot = 8,
        .is_in_place = place == PLACE_SAME,
    };

    plan_clear(plan);
    assert_int_equal(algorithm_allreduce_flat.n_rounds(&shape), 1);
    algorithm_allreduce_flat.plan_round(plan, &shape, 0);
}

static void
expect_kinds(const struct plan *plan,
             const enum plan_step_type *kinds,
             size_t n)
{
    assert_int_equal(plan->n_steps, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(plan->steps[i].kind, kinds[i]);
    assert_true(plan->steps[n - 1].is_final);
    assert_false(plan->steps[n - 2].is_final);
}

static void
allreduce_flat_own_part_is_not_fetched_out_of_place(void **state)
{
    static const enum plan_step_type first[] = {
        PLAN_POST, PLAN_COPY, PLAN_FETCH_REDUCE, PLAN_FETCH_REDUCE};
    static const enum plan_step_type last[] = {PLAN_POST, PLAN_FETCH,
                                               PLAN_FETCH_REDUCE, PLAN_COMBINE};
    struct plan plan = {0};

    (void)state;
    plan_of(&plan, 0, PLACE_APART);
    expect_kinds(&plan, first, COUNT_OF(first));
    plan_of(&plan, 2, PLACE_APART);
    expect_kinds(&plan, last, COUNT_OF(last));
    plan_deinit(&plan);
}

static void
allreduce_flat_first_two_ranks_fetch_only_others_in_place(void **state)
{
    static const enum plan_step_type kinds[] = {PLAN_POST, PLAN_FETCH_REDUCE,
                                                PLAN_FETCH_REDUCE};
    struct plan plan = {0};

    (void)state;
    for (uint32_t rank = 0; rank < 2; rank++) {
        plan_of(&plan, rank, PLACE_SAME);
        expect_kinds(&plan, kinds, COUNT_OF(kinds));
        assert_int_equal(plan.steps[1].peer, 1 - rank);
        assert_int_equal(plan.steps[1].side,
                         rank == 1 ? PLAN_ARRIVED_LEFT : PLAN_OWN_LEFT);
    }
    plan_deinit(&plan);
}

static void
allreduce_flat_later_ranks_fetch_their_own_slot_in_place(void **state)
{
    static const enum plan_step_type kinds[] = {
        PLAN_POST, PLAN_FETCH, PLAN_FETCH_REDUCE, PLAN_FETCH_REDUCE};
    struct plan plan = {0};

    (void)state;
    plan_of(&plan, 2, PLACE_SAME);
    expect_kinds(&plan, kinds, COUNT_OF(kinds));
    assert_int_equal(plan.steps[3].peer, 2);
    assert_int_equal(plan.steps[3].from.first, 0);
    plan_deinit(&plan);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(allreduce_flat_own_part_is_not_fetched_out_of_place),
        cmocka_unit_test(
            allreduce_flat_first_two_ranks_fetch_only_others_in_place),
        cmocka_unit_test(
            allreduce_flat_later_ranks_fetch_their_own_slot_in_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
