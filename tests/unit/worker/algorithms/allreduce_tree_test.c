/*
 * tests/unit/worker/algorithms/allreduce_tree_test.c - what it promises
 *
 * That the sums are right is proved in tests/sim, of "hierarchical_tree".
 */

#include "check.h"
#include "whole_plan.h"

static const struct algorithm *const tree = &algorithm_allreduce_tree;

enum {
    SIZE_MAX_COUNTED = 33,
};

static void
tree_alone_copies_or_rests(void **state)
{
    struct plan_shape shape = {.size = 1, .count = 5};
    struct plan plan = whole_plan_of(tree, &shape);

    (void)state;
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(tree->n_scratch(&shape), 0);
    shape.is_in_place = true;
    assert_int_equal(tree->n_rounds(&shape), 0);
    plan_deinit(&plan);
}

/* As few as there can be; the two at the top finish the sum. */
static void
tree_of_any_size_sends_two_messages_for_each_rank_but_one(void **state)
{
    struct plan_shape shape = {.count = 3};

    (void)state;
    for (shape.size = 2; shape.size <= SIZE_MAX_COUNTED; shape.size++) {
        size_t n_sent = 0;
        size_t n_final = 0;

        for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
            struct plan plan = whole_plan_of(tree, &shape);

            n_sent += whole_plan_count(&plan, PLAN_SEND);
            n_final += whole_plan_count_final(&plan);
            plan_deinit(&plan);
        }
        assert_int_equal(n_sent, 2 * (shape.size - 1));
        assert_int_equal(n_final, 2);
    }
}

/* Four: 1 and 3 hand on what they have, 0 and 2 exchange. */
static void
tree_of_four_goes_up_across_and_down(void **state)
{
    struct plan_shape shape = {.size = 4, .count = 2, .rank = 2};
    struct plan plan = whole_plan_of(tree, &shape);

    (void)state;
    assert_int_equal(plan.n_steps, 4);
    assert_int_equal(plan.steps[0].kind, PLAN_REDUCE);
    assert_int_equal(plan.steps[0].peer, 3);
    assert_int_equal(plan.steps[0].to.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[1].kind, PLAN_SEND);
    assert_int_equal(plan.steps[1].peer, 0);
    assert_int_equal(plan.steps[1].from.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[2].kind, PLAN_REDUCE);
    assert_int_equal(plan.steps[2].peer, 0);
    assert_int_equal(plan.steps[2].side, PLAN_ARRIVED_LEFT);
    assert_int_equal(plan.steps[2].to.buffer, PLAN_OUTPUT);
    assert_true(plan.steps[2].is_final);
    assert_int_equal(plan.steps[3].kind, PLAN_SEND);
    assert_int_equal(plan.steps[3].peer, 3);
    plan_deinit(&plan);

    shape.rank = 3;
    plan = whole_plan_of(tree, &shape);
    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].kind, PLAN_SEND);
    assert_int_equal(plan.steps[1].kind, PLAN_STORE);
    assert_int_equal(tree->n_scratch(&shape), 0);
    plan_deinit(&plan);
}

/* Three in place: nobody is below rank 2, whose own elements leave while rank
 * 0's sum comes. */
static void
tree_in_place_keeps_what_comes_across(void **state)
{
    const struct plan_shape shape = {
        .rank = 2, .size = 3, .count = 4, .is_in_place = true};
    struct plan plan = whole_plan_of(tree, &shape);

    (void)state;
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[1].kind, PLAN_STORE);
    assert_int_equal(plan.steps[1].to.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[2].kind, PLAN_COMBINE);
    assert_int_equal(plan.steps[2].side, PLAN_ARRIVED_LEFT);
    assert_true(plan.steps[2].is_final);
    assert_int_equal(tree->n_scratch(&shape), 4);
    plan_deinit(&plan);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(tree_alone_copies_or_rests),
        cmocka_unit_test(
            tree_of_any_size_sends_two_messages_for_each_rank_but_one),
        cmocka_unit_test(tree_of_four_goes_up_across_and_down),
        cmocka_unit_test(tree_in_place_keeps_what_comes_across),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
