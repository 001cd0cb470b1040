/* tests/unit/worker/algorithms/allgather_ring_test.c - algorithms/allgather_ring.c */

#include "algorithms/algorithms.h"
#include "check.h"

static const struct algorithm *const ring = &algorithm_allgather_ring;

static void
allgather_ring_out_of_place_sends_and_copies_the_input(void **state)
{
    static const size_t counts[] = {2, 3, 4};
    struct plan_shape shape = {.rank = 1, .size = 3, .counts = counts};
    struct plan plan = {0};

    (void)state;
    ring->plan_round(&plan, &shape, 0);
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(plan.steps[0].to.first, 2);
    assert_int_equal(plan.steps[1].kind, PLAN_SEND);
    assert_int_equal(plan.steps[1].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[1].from.first, 0);
    assert_int_equal(plan.steps[2].kind, PLAN_STORE);
    assert_int_equal(plan.steps[2].to.first, 0);
    assert_int_equal(plan.steps[2].to.count, 2);

    plan_clear(&plan);
    shape.is_in_place = true;
    ring->plan_round(&plan, &shape, 0);
    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[0].from.first, 2);
    plan_deinit(&plan);
}

static void
allgather_ring_rounds_are_one_less_than_ranks(void **state)
{
    struct plan_shape shape = {.size = 1, .count = 1};

    (void)state;
    assert_int_equal(ring->n_rounds(&shape), 1);
    shape.is_in_place = true;
    assert_int_equal(ring->n_rounds(&shape), 0);
    shape.size = 7;
    assert_int_equal(ring->n_rounds(&shape), 6);
    assert_null(ring->n_scratch);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            allgather_ring_out_of_place_sends_and_copies_the_input),
        cmocka_unit_test(allgather_ring_rounds_are_one_less_than_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
