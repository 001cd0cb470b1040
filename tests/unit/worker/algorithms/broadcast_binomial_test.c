/* tests/unit/worker/algorithms/broadcast_binomial_test.c - the tree's promises */

#include "algorithms/algorithms.h"
#include "check.h"

static const struct algorithm *const binomial = &algorithm_broadcast_binomial;

/* All steps of one rank. */
static void
binomial_plan(struct plan *plan, const struct plan_shape *shape)
{
    plan_clear(plan);
    for (uint32_t round = 0; round < binomial->n_rounds(shape); round++)
        binomial->plan_round(plan, shape, round);
}

static size_t
n_steps_of(const struct plan *plan, enum plan_step_type kind)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->n_steps; i++)
        n += plan->steps[i].kind == kind ? 1 : 0;
    return n;
}

static void
broadcast_binomial_root_sends_the_larger_part_first(void **state)
{
    const struct plan_shape shape = {
        .rank = 0, .size = 8, .root = 0, .count = 5};
    struct plan plan = {0};

    (void)state;
    binomial_plan(&plan, &shape);
    assert_int_equal(plan.n_steps, 4);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    for (size_t i = 1; i < 4; i++) {
        assert_int_equal(plan.steps[i].kind, PLAN_SEND);
        assert_int_equal(plan.steps[i].peer, 8 >> i);
        assert_int_equal(plan.steps[i].from.buffer, PLAN_INPUT);
        assert_int_equal(plan.steps[i].from.count, 5);
    }
    plan_deinit(&plan);
}

/* Each takes the buffer once, none needs scratch, and the root sends no more
 * often than there are levels. */
static void
broadcast_binomial_takes_n_less_one_messages(void **state)
{
    struct plan_shape shape = {.size = 33, .count = 1, .is_in_place = true};
    struct plan plan = {0};

    (void)state;
    assert_null(binomial->n_scratch);
    for (shape.root = 0; shape.root < shape.size; shape.root++) {
        size_t n_sends = 0;

        for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
            binomial_plan(&plan, &shape);
            assert_int_equal(binomial->n_rounds(&shape), 6);
            assert_int_equal(n_steps_of(&plan, PLAN_STORE),
                             shape.rank == shape.root ? 0 : 1);
            n_sends += n_steps_of(&plan, PLAN_SEND);
        }
        assert_int_equal(n_sends, shape.size - 1);
    }
    plan_deinit(&plan);
}

static void
broadcast_binomial_alone_copies_or_rests(void **state)
{
    struct plan_shape shape = {.size = 1, .count = 5};
    struct plan plan = {0};

    (void)state;
    binomial_plan(&plan, &shape);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    shape.is_in_place = true;
    binomial_plan(&plan, &shape);
    assert_int_equal(plan.n_steps, 0);
    plan_deinit(&plan);
}

/* Steps of one rank of four, root 2; the chain is 2 3 0 1. */
static void
chain_plan(struct plan *plan, uint32_t rank)
{
    const struct plan_shape shape = {
        .rank = rank, .size = 4, .root = 2, .count = 5};
    const struct algorithm *chain = &algorithm_broadcast_chain;

    plan_clear(plan);
    for (uint32_t round = 0; round < chain->n_rounds(&shape); round++)
        chain->plan_round(plan, &shape, round);
}

static void
broadcast_chain_root_copies_and_sends_its_input(void **state)
{
    struct plan plan = {0};

    (void)state;
    chain_plan(&plan, 2);
    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(plan.steps[1].kind, PLAN_SEND);
    assert_int_equal(plan.steps[1].peer, 3);
    assert_int_equal(plan.steps[1].from.buffer, PLAN_INPUT);
    plan_deinit(&plan);
}

static void
broadcast_chain_middle_passes_on_and_last_keeps(void **state)
{
    struct plan plan = {0};

    (void)state;
    chain_plan(&plan, 0);
    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].kind, PLAN_STORE);
    assert_int_equal(plan.steps[0].peer, 3);
    assert_int_equal(plan.steps[1].kind, PLAN_SEND);
    assert_int_equal(plan.steps[1].peer, 1);
    assert_int_equal(plan.steps[1].from.count, 5);
    chain_plan(&plan, 1);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_STORE);
    plan_deinit(&plan);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broadcast_binomial_root_sends_the_larger_part_first),
        cmocka_unit_test(broadcast_binomial_takes_n_less_one_messages),
        cmocka_unit_test(broadcast_binomial_alone_copies_or_rests),
        cmocka_unit_test(broadcast_chain_root_copies_and_sends_its_input),
        cmocka_unit_test(broadcast_chain_middle_passes_on_and_last_keeps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
