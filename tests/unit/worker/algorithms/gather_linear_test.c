/* tests/unit/worker/algorithms/gather_linear_test.c - algorithms/gather_linear.c */

#include "algorithms/algorithms.h"
#include "check.h"

static const struct algorithm *const linear = &algorithm_gather_linear;
static const size_t counts[] = {3, 0, 2, 4};

static struct plan_shape
linear_plan(struct plan *plan, uint32_t rank, bool is_in_place)
{
    const struct plan_shape shape = {
        .rank = rank,
        .size = 4,
        .root = 2,
        .is_in_place = is_in_place,
        .counts = counts,
    };

    plan_clear(plan);
    for (uint32_t round = 0; round < linear->n_rounds(&shape); round++)
        linear->plan_round(plan, &shape, round);
    return shape;
}

static void
gather_linear_root_takes_blocks_to_their_places(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = linear_plan(&plan, 2, false);

    (void)state;
    assert_int_equal(linear->n_rounds(&shape), 3);
    /* Its own, those of 3 and 0; 1 has nothing. */
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(plan.steps[0].from.first, 0);
    assert_int_equal(plan.steps[0].to.first, 3);
    assert_int_equal(plan.steps[1].kind, PLAN_STORE);
    assert_int_equal(plan.steps[1].peer, 3);
    assert_int_equal(plan.steps[1].to.first, 5);
    assert_int_equal(plan.steps[1].to.count, 4);
    assert_int_equal(plan.steps[2].peer, 0);
    assert_int_equal(plan.steps[2].to.first, 0);
    plan_deinit(&plan);
}

static void
gather_linear_others_send_their_block_at_once(void **state)
{
    struct plan plan = {0};
    struct plan_shape shape = linear_plan(&plan, 3, false);

    (void)state;
    assert_int_equal(linear->n_rounds(&shape), 1);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_SEND);
    assert_int_equal(plan.steps[0].peer, 2);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[0].from.first, 0);
    assert_int_equal(plan.steps[0].from.count, 4);
    shape = linear_plan(&plan, 1, false);
    assert_int_equal(plan.n_steps, 0);
    plan_deinit(&plan);
}

/* The root's block is in its place, the others' is at the beginning. */
static void
gather_linear_in_place_copies_nothing(void **state)
{
    struct plan plan = {0};

    (void)state;
    linear_plan(&plan, 2, true);
    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].kind, PLAN_STORE);
    linear_plan(&plan, 3, true);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[0].from.first, 0);
    plan_deinit(&plan);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(gather_linear_root_takes_blocks_to_their_places),
        cmocka_unit_test(gather_linear_others_send_their_block_at_once),
        cmocka_unit_test(gather_linear_in_place_copies_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
