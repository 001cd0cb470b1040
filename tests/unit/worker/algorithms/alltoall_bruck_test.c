/* tests/unit/worker/algorithms/alltoall_bruck_test.c - algorithms/alltoall_bruck.c */

#include "algorithms/algorithms.h"
#include "check.h"

static const struct algorithm *const bruck = &algorithm_alltoall_bruck;

/* Messages that a rank sends, and the elements in them. */
static void
sends_count(uint32_t size, size_t *out_n_messages, size_t *out_n_elements)
{
    const struct plan_shape shape = {.rank = 1, .size = size, .count = 10};
    struct plan plan = {0};

    *out_n_messages = 0;
    *out_n_elements = 0;
    for (uint32_t round = 0; round < bruck->n_rounds(&shape); round++)
        bruck->plan_round(&plan, &shape, round);
    for (size_t i = 0; i < plan.n_steps; i++) {
        if (plan.steps[i].kind != PLAN_SEND)
            continue;
        (*out_n_messages)++;
        *out_n_elements += plan.steps[i].from.count;
    }
    plan_deinit(&plan);
}

static void
bruck_sends_one_message_for_each_bit(void **state)
{
    size_t n_messages = 0;
    size_t n_elements = 0;

    (void)state;
    sends_count(6, &n_messages, &n_elements);
    assert_int_equal(n_messages, 3);
    assert_int_equal(n_elements, (3 + 2 + 2) * 10);
    sends_count(8, &n_messages, &n_elements);
    assert_int_equal(n_messages, 3);
    assert_int_equal(n_elements, (4 + 4 + 4) * 10);
}

static void
bruck_in_place_saves_unless_two_blocks_swap(void **state)
{
    struct plan_shape shape = {.size = 5, .count = 10};

    (void)state;
    assert_int_equal(bruck->n_scratch(&shape), 40);
    shape.is_in_place = true;
    assert_int_equal(bruck->n_scratch(&shape), 90);
    shape.size = 2;
    assert_int_equal(bruck->n_scratch(&shape), 20);
}

static void
bruck_alone_copies_or_rests(void **state)
{
    struct plan_shape shape = {.size = 1, .count = 3};
    struct plan plan = {0};

    (void)state;
    assert_int_equal(bruck->n_rounds(&shape), 2);
    assert_int_equal(bruck->n_scratch(&shape), 0);
    bruck->plan_round(&plan, &shape, 0);
    bruck->plan_round(&plan, &shape, 1);
    assert_int_equal(plan.n_steps, 1);
    shape.is_in_place = true;
    plan_clear(&plan);
    bruck->plan_round(&plan, &shape, 0);
    bruck->plan_round(&plan, &shape, 1);
    assert_int_equal(plan.n_steps, 0);
    plan_deinit(&plan);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(bruck_sends_one_message_for_each_bit),
        cmocka_unit_test(bruck_in_place_saves_unless_two_blocks_swap),
        cmocka_unit_test(bruck_alone_copies_or_rests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
