/* tests/unit/worker/algorithms/shm_plan_test.c - algorithms/shm_plan.c */

#include "algorithms/shm_plan.h"
#include "check.h"

static void
shm_plan_part_count_is_of_whole_granules_if_one_fits(void **state)
{
    const struct plan_shape shape = {
        .size = 3, .granule = 4, .slot_capacity = 30};

    assert_int_equal(shm_plan_part_size(&shape, 1), 28);
    assert_int_equal(shm_plan_part_size(&shape, 2), 12);
    assert_int_equal(shm_plan_part_size(&shape, 10), 3);
}

static void
shm_plan_rounds_are_as_many_as_parts(void **state)
{
    assert_int_equal(shm_plan_round_count(0, 4), 0);
    assert_int_equal(shm_plan_round_count(1, 4), 1);
    assert_int_equal(shm_plan_round_count(4, 4), 1);
    assert_int_equal(shm_plan_round_count(5, 4), 2);
}

static void
shm_plan_part_last_one_is_short_and_the_next_is_empty(void **state)
{
    const struct plan_span whole = {PLAN_OUTPUT, 100, 10};

    assert_int_equal(shm_plan_part_span(whole, 4, 1).first, 104);
    assert_int_equal(shm_plan_part_span(whole, 4, 1).count, 4);
    assert_int_equal(shm_plan_part_span(whole, 4, 2).first, 108);
    assert_int_equal(shm_plan_part_span(whole, 4, 2).count, 2);
    assert_int_equal(shm_plan_part_span(whole, 4, 3).count, 0);
    assert_int_equal(shm_plan_part_span(whole, 4, 2).buffer, PLAN_OUTPUT);
}

static void
shm_plan_next_and_nearest_name_all_others_once(void **state)
{
    static const uint32_t nexts[] = {3, 4, 0, 1};
    static const uint32_t nearest[] = {1, 0, 3, 4};
    const struct plan_shape shape = {.rank = 2, .size = 5};

    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(shm_plan_next_peer(&shape, i), nexts[i]);
        assert_int_equal(shm_plan_nearest_peer(&shape, i), nearest[i]);
    }
}

static void
shm_plan_combine_lower_ranks_stand_left_and_the_last_is_final(void **state)
{
    const struct plan_shape shape = {.rank = 1, .size = 3};
    const struct plan_span to = {PLAN_OUTPUT, 6, 2};
    struct plan plan = {0};

    shm_plan_add_combine(&plan, &shape, 0, 4, to);
    shm_plan_add_combine(&plan, &shape, 1, 5, to);

    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].kind, PLAN_FETCH_REDUCE);
    assert_int_equal(plan.steps[0].peer, 0);
    assert_int_equal(plan.steps[0].from.first, 4);
    assert_int_equal(plan.steps[0].from.count, 2);
    assert_int_equal(plan.steps[0].side, PLAN_RECEIVED_IS_LEFT_OPERAND);
    assert_false(plan.steps[0].is_final);
    assert_int_equal(plan.steps[1].peer, 2);
    assert_int_equal(plan.steps[1].side, PLAN_OWN_IS_LEFT_OPERAND);
    assert_true(plan.steps[1].is_final);
    plan_deinit(&plan);
}

static void
shm_plan_source_is_output_in_place(void **state)
{
    assert_int_equal(
        shm_plan_source_buffer(&(struct plan_shape){.is_in_place = true}),
        PLAN_OUTPUT);
    assert_int_equal(shm_plan_source_buffer(&(struct plan_shape){.size = 2}),
                     PLAN_INPUT);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(shm_plan_part_count_is_of_whole_granules_if_one_fits),
        cmocka_unit_test(shm_plan_rounds_are_as_many_as_parts),
        cmocka_unit_test(shm_plan_part_last_one_is_short_and_the_next_is_empty),
        cmocka_unit_test(shm_plan_next_and_nearest_name_all_others_once),
        cmocka_unit_test(
            shm_plan_combine_lower_ranks_stand_left_and_the_last_is_final),
        cmocka_unit_test(shm_plan_source_is_output_in_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
