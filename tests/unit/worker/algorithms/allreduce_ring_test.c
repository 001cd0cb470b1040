/* tests/unit/worker/algorithms/allreduce_ring_test.c - algorithms/allreduce_ring.c */

#include "check.h"
#include "whole_plan.h"

static const struct algorithm *const ring = &algorithm_allreduce_ring;

static void
allreduce_ring_alone_copies_or_rests(void **state)
{
    struct plan_shape shape = {.size = 1, .count = 5, .granule = 1};
    struct plan plan = {0};

    (void)state;
    assert_int_equal(ring->n_rounds(&shape), 1);
    ring->plan_round(&plan, &shape, 0);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(plan.steps[0].to.count, 5);
    shape.is_in_place = true;
    assert_int_equal(ring->n_rounds(&shape), 0);
    plan_deinit(&plan);
}

/* Two ranks: rank 0 finishes block 0, then takes block 1. */
static void
allreduce_ring_two_ranks_combine_then_store(void **state)
{
    const struct plan_shape shape = {
        .rank = 0, .size = 2, .count = 8, .granule = 1};
    struct plan plan = {0};

    (void)state;
    assert_int_equal(ring->n_rounds(&shape), 2);
    ring->plan_round(&plan, &shape, 0);
    ring->plan_round(&plan, &shape, 1);
    assert_int_equal(plan.n_steps, 4);
    assert_int_equal(plan.steps[0].kind, PLAN_SEND);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[0].from.first, 4);
    assert_int_equal(plan.steps[1].kind, PLAN_REDUCE);
    assert_int_equal(plan.steps[1].to.first, 0);
    assert_int_equal(plan.steps[1].side, PLAN_OWN_LEFT);
    assert_true(plan.steps[1].is_final);
    assert_int_equal(plan.steps[2].kind, PLAN_SEND);
    assert_int_equal(plan.steps[2].from.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[3].kind, PLAN_STORE);
    assert_int_equal(plan.steps[3].to.first, 4);
    plan_deinit(&plan);
}

static void
allreduce_ring_each_block_is_final_once(void **state)
{
    struct plan_shape shape = {.size = 5, .count = 11, .granule = 1};
    size_t n_final = 0;
    size_t n_elements = 0;

    (void)state;
    for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
        struct plan plan = whole_plan_of(ring, &shape);

        for (size_t i = 0; i < plan.n_steps; i++) {
            n_final += plan.steps[i].is_final ? 1 : 0;
            n_elements += plan.steps[i].is_final ? plan.steps[i].to.count : 0;
        }
        plan_deinit(&plan);
    }
    assert_int_equal(n_final, 5);
    assert_int_equal(n_elements, 11);
}

static void
allreduce_ring_less_than_a_granule_is_one_block(void **state)
{
    struct plan_shape shape = {.size = 4, .count = 3, .granule = 16};
    size_t n_steps = 0;

    (void)state;
    for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
        struct plan plan = whole_plan_of(ring, &shape);

        n_steps += plan.n_steps;
        plan_deinit(&plan);
    }
    /* Six messages, each with two ends. */
    assert_int_equal(n_steps, 12);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(allreduce_ring_alone_copies_or_rests),
        cmocka_unit_test(allreduce_ring_two_ranks_combine_then_store),
        cmocka_unit_test(allreduce_ring_each_block_is_final_once),
        cmocka_unit_test(allreduce_ring_less_than_a_granule_is_one_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
