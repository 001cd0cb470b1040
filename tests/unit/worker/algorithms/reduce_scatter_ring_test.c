/* tests/unit/worker/algorithms/reduce_scatter_ring_test.c - algorithms/reduce_scatter_ring.c */

#include "algorithms/algorithms.h"
#include "check.h"

static const struct algorithm *const ring = &algorithm_reduce_scatter_ring;

static void
reduce_scatter_ring_scratch_is_two_blocks_at_most(void **state)
{
    struct plan_shape shape = {.size = 1, .count = 10};

    (void)state;
    assert_int_equal(ring->n_scratch(&shape), 0);
    shape.size = 2;
    assert_int_equal(ring->n_scratch(&shape), 0);
    shape.size = 3;
    assert_int_equal(ring->n_scratch(&shape), 10);
    shape.size = 100;
    assert_int_equal(ring->n_scratch(&shape), 20);
}

static void
reduce_scatter_ring_two_ranks_in_place_take_the_slot(void **state)
{
    struct plan_shape shape = {
        .rank = 0, .size = 2, .count = 10, .is_in_place = true};
    struct plan plan = {0};

    (void)state;
    assert_int_equal(ring->n_rounds(&shape), 1);
    shape.rank = 1;
    assert_int_equal(ring->n_rounds(&shape), 2);
    assert_int_equal(ring->n_scratch(&shape), 10);
    ring->plan_round(&plan, &shape, 0);
    ring->plan_round(&plan, &shape, 1);
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[1].kind, PLAN_REDUCE);
    assert_int_equal(plan.steps[1].to.buffer, PLAN_SCRATCH);
    assert_true(plan.steps[1].is_final);
    assert_int_equal(plan.steps[2].kind, PLAN_COPY);
    assert_int_equal(plan.steps[2].to.first, 0);
    plan_deinit(&plan);
}

static void
reduce_scatter_ring_half_overlap_takes_the_slot(void **state)
{
    static const size_t counts[] = {2, 9, 9};
    const struct plan_shape shape = {
        .rank = 1, .size = 3, .counts = counts, .is_in_place = true};
    struct plan_shape outside = shape;

    (void)state;
    assert_int_equal(ring->n_rounds(&shape), 3);
    assert_int_equal(ring->n_scratch(&shape), 18);
    outside.is_in_place = false;
    assert_int_equal(ring->n_rounds(&outside), 2);
    assert_int_equal(ring->n_scratch(&outside), 9);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduce_scatter_ring_scratch_is_two_blocks_at_most),
        cmocka_unit_test(reduce_scatter_ring_two_ranks_in_place_take_the_slot),
        cmocka_unit_test(reduce_scatter_ring_half_overlap_takes_the_slot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
