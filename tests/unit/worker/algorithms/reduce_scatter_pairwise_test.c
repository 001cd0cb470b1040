/* tests/unit/worker/algorithms/reduce_scatter_pairwise_test.c - what it promises */

#include "algorithms/algorithms.h"
#include "check.h"

static const struct algorithm *const pairwise =
    &algorithm_reduce_scatter_pairwise;

static void
pairwise_rounds_are_one_less_than_ranks(void **state)
{
    struct plan_shape shape = {.size = 1, .count = 1};

    (void)state;
    assert_int_equal(pairwise->n_rounds(&shape), 1);
    shape.size = 7;
    assert_int_equal(pairwise->n_rounds(&shape), 6);
    /* One more for the copy. */
    shape.is_in_place = true;
    assert_int_equal(pairwise->n_rounds(&shape), 7);
    shape.size = 1;
    assert_int_equal(pairwise->n_rounds(&shape), 0);
}

static void
pairwise_scratch_is_the_own_block_in_place_alone(void **state)
{
    static const size_t counts[] = {3, 0, 9};
    struct plan_shape shape = {.size = 3, .counts = counts};

    (void)state;
    for (shape.rank = 0; shape.rank < 3; shape.rank++) {
        shape.is_in_place = false;
        assert_int_equal(pairwise->n_scratch(&shape), 0);
        shape.is_in_place = true;
        assert_int_equal(pairwise->n_scratch(&shape), counts[shape.rank]);
    }
    shape = (struct plan_shape){.size = 1, .count = 5, .is_in_place = true};
    assert_int_equal(pairwise->n_scratch(&shape), 0);
}

/* A message to and from every other rank, each of one block. */
static void
pairwise_sends_each_block_to_its_owner(void **state)
{
    struct plan_shape shape = {.size = 9, .count = 2};

    (void)state;
    for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
        uint32_t sent_to = 0;
        uint32_t reduced_from = 0;
        struct plan plan = {0};

        for (uint32_t i = 0; i < pairwise->n_rounds(&shape); i++)
            pairwise->plan_round(&plan, &shape, i);
        assert_int_equal(plan.n_steps, 16);
        for (size_t i = 0; i < plan.n_steps; i++) {
            const struct plan_step *step = &plan.steps[i];
            const bool sends = step->kind == PLAN_SEND;

            sent_to |= sends ? UINT32_C(1) << step->peer : 0;
            reduced_from |= sends ? 0 : UINT32_C(1) << step->peer;
            if (sends)
                assert_int_equal(step->from.first, 2 * step->peer);
            assert_int_equal(sends ? step->from.count : step->to.count, 2);
            assert_int_equal(step->is_final, i + 1 == plan.n_steps);
        }
        assert_int_equal(sent_to, 0x1ff & ~(1U << shape.rank));
        assert_int_equal(reduced_from, 0x1ff & ~(1U << shape.rank));
        plan_deinit(&plan);
    }
}

/* Rank 2 of 5: 1 and 0 stand left, then come 4 and 3, right. */
static void
pairwise_order_is_down_from_the_owner(void **state)
{
    static const uint32_t peers[] = {1, 0, 4, 3};
    const struct plan_shape shape = {.rank = 2, .size = 5, .count = 2};

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        struct plan plan = {0};

        pairwise->plan_round(&plan, &shape, i);
        const struct plan_step *step = &plan.steps[plan.n_steps - 1];
        assert_int_equal(step->kind, PLAN_REDUCE);
        assert_int_equal(step->peer, peers[i]);
        assert_int_equal(step->side,
                         peers[i] < 2 ? PLAN_ARRIVED_LEFT : PLAN_OWN_LEFT);
        assert_int_equal(step->from.buffer, i == 0 ? PLAN_INPUT : PLAN_OUTPUT);
        plan_deinit(&plan);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairwise_rounds_are_one_less_than_ranks),
        cmocka_unit_test(pairwise_scratch_is_the_own_block_in_place_alone),
        cmocka_unit_test(pairwise_sends_each_block_to_its_owner),
        cmocka_unit_test(pairwise_order_is_down_from_the_owner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
