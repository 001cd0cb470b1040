/* tests/unit/worker/algorithms/scan_doubling_test.c - algorithms/scan_doubling.c */

#include "algorithms/algorithms.h"
#include "check.h"

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
            assert_int_equal(plan.steps[i].side, PLAN_ARRIVED_LEFT);
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

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(scan_doubling_exchanges_as_often_as_size_doubles),
        cmocka_unit_test(scan_doubling_first_needs_no_scratch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
