/* tests/unit/worker/algorithms/scatter_binomial_test.c - algorithms/scatter_binomial.c */

#include "algorithms/algorithms.h"
#include "check.h"

static const struct algorithm *const binomial = &algorithm_scatter_binomial;
static const size_t counts[] = {3, 1, 2, 4, 0, 6};

/* All steps of one rank of six, root 3: the picture in scatter_binomial.c. */
static struct plan_shape
binomial_plan(struct plan *plan, uint32_t rank, bool is_in_place)
{
    const struct plan_shape shape = {
        .rank = rank,
        .size = 6,
        .root = 3,
        .is_in_place = is_in_place,
        .counts = counts,
    };

    plan_clear(plan);
    for (uint32_t round = 0; round < binomial->n_rounds(&shape); round++)
        binomial->plan_round(plan, &shape, round);
    return shape;
}

static void
scatter_binomial_root_sends_the_larger_part_first(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = binomial_plan(&plan, 3, false);

    (void)state;
    assert_int_equal(binomial->n_rounds(&shape), 3);
    assert_int_equal(binomial->n_scratch(&shape), 0);
    assert_int_equal(plan.n_steps, 4);
    assert_int_equal(plan.steps[0].kind, PLAN_SEND);
    assert_int_equal(plan.steps[0].peer, 4);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[0].from.first, 10);
    assert_int_equal(plan.steps[0].from.count, 6);
    assert_int_equal(plan.steps[1].peer, 0);
    assert_int_equal(plan.steps[1].from.first, 0);
    assert_int_equal(plan.steps[1].from.count, 4);
    assert_int_equal(plan.steps[2].kind, PLAN_COPY);
    assert_int_equal(plan.steps[2].from.first, 6);
    assert_int_equal(plan.steps[2].to.first, 0);
    assert_int_equal(plan.steps[3].peer, 2);
    plan_deinit(&plan);
}

static void
scatter_binomial_in_place_root_writes_nothing(void **state)
{
    struct plan plan = {0};

    (void)state;
    binomial_plan(&plan, 3, true);
    assert_int_equal(plan.n_steps, 3);
    for (size_t i = 0; i < plan.n_steps; i++) {
        assert_int_equal(plan.steps[i].kind, PLAN_SEND);
        assert_int_equal(plan.steps[i].from.buffer, PLAN_OUTPUT);
    }
    plan_deinit(&plan);
}

static void
scatter_binomial_middle_takes_its_part_and_sends_the_rest(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = binomial_plan(&plan, 0, false);

    (void)state;
    assert_int_equal(binomial->n_scratch(&shape), 4);
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[0].kind, PLAN_STORE);
    assert_int_equal(plan.steps[0].to.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[0].to.count, 4);
    assert_int_equal(plan.steps[1].kind, PLAN_COPY);
    assert_int_equal(plan.steps[1].from.first, 0);
    assert_int_equal(plan.steps[1].from.count, 3);
    assert_int_equal(plan.steps[1].to.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[2].kind, PLAN_SEND);
    assert_int_equal(plan.steps[2].peer, 1);
    assert_int_equal(plan.steps[2].from.first, 3);
    assert_int_equal(plan.steps[2].from.count, 1);
    plan_deinit(&plan);
}

static void
scatter_binomial_leaf_takes_its_block_to_the_beginning(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = binomial_plan(&plan, 5, true);

    (void)state;
    assert_int_equal(binomial->n_scratch(&shape), 0);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_STORE);
    assert_int_equal(plan.steps[0].peer, 4);
    assert_int_equal(plan.steps[0].to.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[0].to.first, 0);
    assert_int_equal(plan.steps[0].to.count, 6);
    plan_deinit(&plan);
}

/* What is passed on, and the own block with it. */
static void
scatter_binomial_scratch_is_the_part_of_a_rank(void **state)
{
    static const size_t parts[] = {0, 0, 2, 0, 4, 0, 2, 0};
    struct plan_shape shape = {.size = 8, .count = 5};

    (void)state;
    for (shape.rank = 0; shape.rank < shape.size; shape.rank++)
        assert_int_equal(binomial->n_scratch(&shape), 5 * parts[shape.rank]);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(scatter_binomial_root_sends_the_larger_part_first),
        cmocka_unit_test(scatter_binomial_in_place_root_writes_nothing),
        cmocka_unit_test(
            scatter_binomial_middle_takes_its_part_and_sends_the_rest),
        cmocka_unit_test(
            scatter_binomial_leaf_takes_its_block_to_the_beginning),
        cmocka_unit_test(scatter_binomial_scratch_is_the_part_of_a_rank),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
