/*
 * tests/unit/worker/algorithms/allreduce_flat_blocks_test.c - one block a rank, by
 * algorithms/allreduce_direct.c
 */

#include "algorithms/algorithms.h"
#include "check.h"

static const struct algorithm *const blocks = &algorithm_allreduce_flat_blocks;

static struct plan_shape
shape_of(uint32_t rank)
{
    return (struct plan_shape){
        .rank = rank,
        .size = 4,
        .count = 250,
        .granule = 4,
        .n_slot = 111,
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
        if (plan->steps[i].kind == PLAN_POST)
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
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(allreduce_flat_blocks_has_a_round_more_than_parts),
        cmocka_unit_test(allreduce_flat_blocks_fills_every_slot),
        cmocka_unit_test(allreduce_flat_blocks_own_block_is_not_posted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
