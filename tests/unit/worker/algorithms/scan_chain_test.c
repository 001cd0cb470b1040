/* tests/unit/worker/algorithms/scan_chain_test.c - algorithms/scan_chain.c */

#include "algorithms/algorithms.h"
#include "check.h"

static const struct algorithm *const chain = &algorithm_scan_chain;

static void
chain_plan(struct plan *plan, const struct plan_shape *shape)
{
    plan_clear(plan);
    for (uint32_t round = 0; round < chain->n_rounds(shape); round++)
        chain->plan_round(plan, shape, round);
}

static void
scan_chain_combines_to_the_right_and_sends_on(void **state)
{
    const struct plan_shape shape = {.rank = 1, .size = 3, .count = 5};
    struct plan plan = {0};

    (void)state;
    chain_plan(&plan, &shape);
    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].kind, PLAN_REDUCE);
    assert_int_equal(plan.steps[0].peer, 0);
    assert_int_equal(plan.steps[0].side, PLAN_RECEIVED_IS_LEFT_OPERAND);
    assert_false(plan.steps[0].is_final);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[1].kind, PLAN_SEND);
    assert_int_equal(plan.steps[1].peer, 2);
    assert_int_equal(plan.steps[1].from.buffer, PLAN_OUTPUT);
    plan_deinit(&plan);
}

static void
scan_chain_first_copies_unless_in_place(void **state)
{
    struct plan_shape shape = {.rank = 0, .size = 3, .count = 5};
    struct plan plan = {0};

    (void)state;
    chain_plan(&plan, &shape);
    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(plan.steps[1].from.buffer, PLAN_INPUT);
    shape.is_in_place = true;
    chain_plan(&plan, &shape);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_OUTPUT);
    plan_deinit(&plan);
}

static const struct algorithm *const doubling = &algorithm_scan_doubling;

/* How many messages a rank sends and takes. */
static void
messages_count(uint32_t rank, uint32_t size, size_t n_messages[2])
{
    const struct plan_shape shape = {.rank = rank, .size = size, .count = 2};
    struct plan plan = {0};

    n_messages[0] = 0;
    n_messages[1] = 0;
    for (uint32_t round = 0; round < doubling->n_rounds(&shape); round++)
        doubling->plan_round(&plan, &shape, round);
    for (size_t i = 0; i < plan.n_steps; i++) {
        n_messages[0] += plan.steps[i].kind == PLAN_SEND ? 1 : 0;
        n_messages[1] += plan.steps[i].kind == PLAN_STORE ? 1 : 0;
        assert_false(plan.steps[i].is_final);
        if (plan.steps[i].kind == PLAN_COMBINE)
            assert_int_equal(plan.steps[i].side, PLAN_RECEIVED_IS_LEFT_OPERAND);
    }
    plan_deinit(&plan);
}

static void
scan_doubling_exchanges_as_often_as_size_doubles(void **state)
{
    size_t n_messages[2];

    (void)state;
    messages_count(0, 6, n_messages);
    assert_int_equal(n_messages[0], 3);
    assert_int_equal(n_messages[1], 0);
    messages_count(5, 6, n_messages);
    assert_int_equal(n_messages[0], 0);
    assert_int_equal(n_messages[1], 3);
    messages_count(2, 6, n_messages);
    assert_int_equal(n_messages[0], 2);
    assert_int_equal(n_messages[1], 2);
}

static void
scan_doubling_first_needs_no_scratch(void **state)
{
    struct plan_shape shape = {.size = 4, .count = 7};

    (void)state;
    assert_int_equal(doubling->n_scratch(&shape), 0);
    shape.rank = 1;
    assert_int_equal(doubling->n_scratch(&shape), 7);
}

static const struct algorithm *const exscan_chain_chain =
    &algorithm_exscan_chain;

/* Steps of one rank of three, in place. */
static struct plan_shape
exscan_chain_chain_plan(struct plan *plan, uint32_t rank)
{
    const struct plan_shape shape = {
        .rank = rank, .size = 3, .count = 5, .is_in_place = true};

    plan_clear(plan);
    for (uint32_t round = 0; round < exscan_chain_chain->n_rounds(&shape);
         round++)
        exscan_chain_chain->plan_round(plan, &shape, round);
    return shape;
}

static void
exscan_chain_first_only_sends(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = exscan_chain_chain_plan(&plan, 0);

    (void)state;
    assert_int_equal(exscan_chain_chain->n_scratch(&shape), 0);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_SEND);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_OUTPUT);
    plan_deinit(&plan);
}

static void
exscan_chain_middle_makes_what_it_sends_in_scratch(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = exscan_chain_chain_plan(&plan, 1);

    (void)state;
    assert_int_equal(exscan_chain_chain->n_scratch(&shape), 5);
    assert_int_equal(plan.n_steps, 4);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(plan.steps[1].kind, PLAN_STORE);
    assert_int_equal(plan.steps[1].to.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[2].kind, PLAN_COMBINE);
    assert_int_equal(plan.steps[2].side, PLAN_RECEIVED_IS_LEFT_OPERAND);
    assert_int_equal(plan.steps[2].to.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[3].from.buffer, PLAN_SCRATCH);
    plan_deinit(&plan);
}

static void
exscan_chain_last_only_takes(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = exscan_chain_chain_plan(&plan, 2);

    (void)state;
    assert_int_equal(exscan_chain_chain->n_scratch(&shape), 0);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_STORE);
    plan_deinit(&plan);
}

static const struct algorithm *const exscan_doubling_doubling =
    &algorithm_exscan_doubling;

/* Steps of one rank of four. */
static void
doubling_plan(struct plan *plan, uint32_t rank)
{
    const struct plan_shape shape = {.rank = rank, .size = 4, .count = 5};

    plan_clear(plan);
    for (uint32_t round = 0; round < exscan_doubling_doubling->n_rounds(&shape);
         round++)
        exscan_doubling_doubling->plan_round(plan, &shape, round);
}

static void
exscan_doubling_first_leaves_its_output(void **state)
{
    struct plan plan = {0};

    (void)state;
    doubling_plan(&plan, 0);
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(plan.steps[0].to.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[1].kind, PLAN_SEND);
    assert_int_equal(plan.steps[2].kind, PLAN_SEND);
    assert_int_equal(plan.steps[2].peer, 2);
    plan_deinit(&plan);
}

/* Nobody to send to: no sum is made beside the result. */
static void
exscan_doubling_last_makes_its_result_only(void **state)
{
    struct plan plan = {0};

    (void)state;
    doubling_plan(&plan, 3);
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[0].kind, PLAN_STORE);
    assert_int_equal(plan.steps[0].to.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[1].kind, PLAN_STORE);
    assert_int_equal(plan.steps[1].to.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[2].kind, PLAN_COMBINE);
    assert_int_equal(plan.steps[2].to.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[2].side, PLAN_RECEIVED_IS_LEFT_OPERAND);
    plan_deinit(&plan);
}

/* What came is combined with the sum and with the result. */
static void
exscan_doubling_middle_keeps_sum_and_result(void **state)
{
    struct plan plan = {0};
    size_t n_combines = 0;

    (void)state;
    doubling_plan(&plan, 1);
    for (size_t i = 0; i < plan.n_steps; i++) {
        n_combines += plan.steps[i].kind == PLAN_COMBINE ? 1 : 0;
        assert_false(plan.steps[i].is_final);
    }
    assert_int_equal(n_combines, 1);
    plan_deinit(&plan);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scan_chain_combines_to_the_right_and_sends_on),
        cmocka_unit_test(scan_chain_first_copies_unless_in_place),
        cmocka_unit_test(scan_doubling_exchanges_as_often_as_size_doubles),
        cmocka_unit_test(scan_doubling_first_needs_no_scratch),
        cmocka_unit_test(exscan_chain_first_only_sends),
        cmocka_unit_test(exscan_chain_middle_makes_what_it_sends_in_scratch),
        cmocka_unit_test(exscan_chain_last_only_takes),
        cmocka_unit_test(exscan_doubling_first_leaves_its_output),
        cmocka_unit_test(exscan_doubling_last_makes_its_result_only),
        cmocka_unit_test(exscan_doubling_middle_keeps_sum_and_result),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
