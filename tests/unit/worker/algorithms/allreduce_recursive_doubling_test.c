/* tests/unit/worker/algorithms/allreduce_recursive_doubling_test.c - what it promises
 */

#include "check.h"
#include "whole_plan.h"

static const struct algorithm *const doubling =
    &algorithm_allreduce_recursive_doubling;

static void
doubling_alone_copies_or_rests(void **state)
{
    struct plan_shape shape = {.size = 1, .count = 5};
    struct plan plan = whole_plan_of(doubling, &shape);

    (void)state;
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(doubling->n_scratch(&shape), 0);
    shape.is_in_place = true;
    assert_int_equal(doubling->n_rounds(&shape), 0);
    plan_deinit(&plan);
}

/* log2 n messages of all elements from each rank of a power of two. */
static void
doubling_power_of_two_sends_log2_messages(void **state)
{
    struct plan_shape shape = {.count = 7};
    size_t n_messages = 1;

    (void)state;
    for (shape.size = 2; shape.size <= 64; shape.size *= 2, n_messages++) {
        for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
            struct plan plan = whole_plan_of(doubling, &shape);

            assert_int_equal(whole_plan_count(&plan, PLAN_SEND), n_messages);
            assert_int_equal(whole_plan_count(&plan, PLAN_REDUCE), n_messages);
            assert_int_equal(plan.n_steps, 2 * n_messages);
            assert_int_equal(whole_plan_count_final(&plan), 1);
            plan_deinit(&plan);
        }
    }
}

/* Seven: 1, 3 and 5 rest. They send what they have and are sent the result,
 * finished; the others exchange twice. */
static void
doubling_folded_rank_sends_once_and_finishes_nothing(void **state)
{
    struct plan_shape shape = {.size = 7, .count = 3};

    (void)state;
    for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
        struct plan plan = whole_plan_of(doubling, &shape);
        const bool rests = shape.rank % 2 == 1;
        const bool stands_for_two = shape.rank % 2 == 0 && shape.rank < 6;

        assert_int_equal(whole_plan_count(&plan, PLAN_SEND),
                         rests ? 1 : 2 + (stands_for_two ? 1 : 0));
        assert_int_equal(whole_plan_count(&plan, PLAN_STORE), rests ? 1 : 0);
        assert_int_equal(whole_plan_count_final(&plan), rests ? 0 : 1);
        assert_int_equal(doubling->n_scratch(&shape), rests ? 0 : 3);
        plan_deinit(&plan);
    }
}

/* Eight ranks in place: the third sum would have to go where the second one
 * still leaves. */
static void
doubling_in_place_odd_exchanges_keep_the_last_arrival(void **state)
{
    const struct plan_shape shape = {
        .rank = 5, .size = 8, .count = 4, .is_in_place = true};
    struct plan plan = whole_plan_of(doubling, &shape);

    (void)state;
    assert_int_equal(whole_plan_count(&plan, PLAN_REDUCE), 2);
    assert_int_equal(whole_plan_count(&plan, PLAN_STORE), 1);
    const struct plan_step *last = &plan.steps[plan.n_steps - 1];
    assert_int_equal(last->kind, PLAN_COMBINE);
    assert_int_equal(last->to.buffer, PLAN_OUTPUT);
    assert_int_equal(last->side, PLAN_ARRIVED_LEFT);
    assert_true(last->is_final);
    plan_deinit(&plan);
}

/* The sum that leaves is never the one that is written meanwhile. */
static void
doubling_sums_alternate_and_end_in_the_output(void **state)
{
    struct plan_shape shape = {.count = 4};

    (void)state;
    for (shape.size = 2; shape.size <= 32; shape.size *= 2) {
        struct plan plan = whole_plan_of(doubling, &shape);

        for (size_t i = 0; i < plan.n_steps; i++) {
            if (plan.steps[i].kind == PLAN_REDUCE)
                assert_int_not_equal(plan.steps[i].from.buffer,
                                     plan.steps[i].to.buffer);
        }
        assert_int_equal(plan.steps[0].from.buffer, PLAN_INPUT);
        assert_int_equal(plan.steps[plan.n_steps - 1].to.buffer, PLAN_OUTPUT);
        plan_deinit(&plan);
    }
}

static void
doubling_lower_partner_stands_left(void **state)
{
    struct plan_shape shape = {.size = 13, .count = 1};

    (void)state;
    for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
        struct plan plan = whole_plan_of(doubling, &shape);

        for (size_t i = 0; i < plan.n_steps; i++) {
            const struct plan_step *step = &plan.steps[i];

            if (step->kind == PLAN_REDUCE)
                assert_int_equal(step->side, step->peer < shape.rank
                                                 ? PLAN_ARRIVED_LEFT
                                                 : PLAN_OWN_LEFT);
        }
        plan_deinit(&plan);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubling_alone_copies_or_rests),
        cmocka_unit_test(doubling_power_of_two_sends_log2_messages),
        cmocka_unit_test(doubling_folded_rank_sends_once_and_finishes_nothing),
        cmocka_unit_test(doubling_in_place_odd_exchanges_keep_the_last_arrival),
        cmocka_unit_test(doubling_sums_alternate_and_end_in_the_output),
        cmocka_unit_test(doubling_lower_partner_stands_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
