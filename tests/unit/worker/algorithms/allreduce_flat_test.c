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
        .slot_capacity = 8,
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
        PLAN_POST_TO_SLOT, PLAN_COPY, PLAN_FETCH_REDUCE, PLAN_FETCH_REDUCE};
    static const enum plan_step_type last[] = {PLAN_POST_TO_SLOT, PLAN_FETCH,
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
    static const enum plan_step_type kinds[] = {
        PLAN_POST_TO_SLOT, PLAN_FETCH_REDUCE, PLAN_FETCH_REDUCE};
    struct plan plan = {0};

    (void)state;
    for (uint32_t rank = 0; rank < 2; rank++) {
        plan_of(&plan, rank, PLACE_SAME);
        expect_kinds(&plan, kinds, COUNT_OF(kinds));
        assert_int_equal(plan.steps[1].peer, 1 - rank);
        assert_int_equal(plan.steps[1].side, rank == 1
                                                 ? PLAN_RECEIVED_IS_LEFT_OPERAND
                                                 : PLAN_OWN_IS_LEFT_OPERAND);
    }
    plan_deinit(&plan);
}

static void
allreduce_flat_later_ranks_fetch_their_own_slot_in_place(void **state)
{
    static const enum plan_step_type kinds[] = {
        PLAN_POST_TO_SLOT, PLAN_FETCH, PLAN_FETCH_REDUCE, PLAN_FETCH_REDUCE};
    struct plan plan = {0};

    (void)state;
    plan_of(&plan, 2, PLACE_SAME);
    expect_kinds(&plan, kinds, COUNT_OF(kinds));
    assert_int_equal(plan.steps[3].peer, 2);
    assert_int_equal(plan.steps[3].from.first, 0);
    plan_deinit(&plan);
}

/* algorithms/allreduce_direct.c */

static const struct algorithm *const blocks = &algorithm_allreduce_flat_blocks;

static struct plan_shape
shape_of(uint32_t rank)
{
    return (struct plan_shape){
        .rank = rank,
        .size = 4,
        .count = 250,
        .granule = 4,
        .slot_capacity = 111,
        .is_in_place = true,
    };
}

static void
allreduce_flat_blocks_has_a_round_more_than_parts(void **state)
{
    struct plan_shape shape = shape_of(0);

    (void)state;
    /* 96 elements are six granules for each. */
    assert_int_equal(blocks->n_rounds(&shape), 4);
    shape.size = 1;
    assert_int_equal(blocks->n_rounds(&shape), 3);
    shape.count = 0;
    assert_int_equal(blocks->n_rounds(&shape), 0);
}

static size_t
posted(const struct plan *plan)
{
    size_t count = 0;

    for (size_t i = 0; i < plan->n_steps; i++)
        if (plan->steps[i].kind == PLAN_POST_TO_SLOT)
            count += plan->steps[i].from.count;
    return count;
}

static void
allreduce_flat_blocks_fills_every_slot(void **state)
{
    const struct plan_shape shape = shape_of(2);
    struct plan plan = {0};

    (void)state;
    blocks->plan_round(&plan, &shape, 0);
    assert_int_equal(posted(&plan), 96 - 24);
    plan_clear(&plan);
    blocks->plan_round(&plan, &shape, 1);
    assert_int_equal(posted(&plan), 96);
    plan_deinit(&plan);
}

/* Its own is where it is combined. */
static void
allreduce_flat_blocks_own_block_is_not_posted(void **state)
{
    const struct plan_shape shape = shape_of(1);
    struct plan plan = {0};

    (void)state;
    blocks->plan_round(&plan, &shape, 0);
    assert_int_equal(plan.n_steps, 6);
    assert_int_equal(plan.steps[0].from.first, 0);
    assert_int_equal(plan.steps[1].from.first, 48);
    assert_int_equal(plan.steps[2].from.first, 72);
    for (size_t i = 3; i < 6; i++) {
        assert_int_equal(plan.steps[i].kind, PLAN_FETCH_REDUCE);
        assert_int_equal(plan.steps[i].to.first, 24);
    }
    assert_true(plan.steps[5].is_final);
    plan_deinit(&plan);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allreduce_flat_own_part_is_not_fetched_out_of_place),
        cmocka_unit_test(
            allreduce_flat_first_two_ranks_fetch_only_others_in_place),
        cmocka_unit_test(
            allreduce_flat_later_ranks_fetch_their_own_slot_in_place),
        cmocka_unit_test(allreduce_flat_blocks_has_a_round_more_than_parts),
        cmocka_unit_test(allreduce_flat_blocks_fills_every_slot),
        cmocka_unit_test(allreduce_flat_blocks_own_block_is_not_posted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
