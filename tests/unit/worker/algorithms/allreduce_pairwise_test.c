/* tests/unit/worker/algorithms/allreduce_pairwise_test.c - what it promises */

#include "algorithms/algorithms.h"
#include "check.h"

static const struct algorithm *const pairwise = &algorithm_allreduce_pairwise;

static void
plan_all(struct plan *plan, const struct plan_shape *shape)
{
    plan_clear(plan);
    for (uint32_t i = 0; i < pairwise->n_rounds(shape); i++)
        pairwise->plan_round(plan, shape, i);
    assert_int_equal(plan_status(plan), HOOP_OK);
}

static void
allreduce_pairwise_alone_copies_or_rests(void **state)
{
    struct plan_shape shape = {.size = 1, .count = 5, .granule = 1};
    struct plan plan = {0};

    (void)state;
    plan_all(&plan, &shape);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(plan.steps[0].to.count, 5);
    shape.is_in_place = true;
    assert_int_equal(pairwise->n_rounds(&shape), 0);
    plan_deinit(&plan);
}

/* Nobody passes on what another one made, or gave. */
static void
allreduce_pairwise_sends_what_it_was_given_and_made(void **state)
{
    struct plan_shape shape = {.size = 5, .count = 10, .granule = 1};
    struct plan plan = {0};

    (void)state;
    for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
        uint32_t given_to = 0;
        uint32_t made_to = 0;
        size_t n_final = 0;

        plan_all(&plan, &shape);
        assert_int_equal(plan.n_steps, 16);
        for (size_t i = 0; i < plan.n_steps; i++) {
            const struct plan_step *step = &plan.steps[i];
            const bool is_given = step->from.buffer == PLAN_INPUT;

            n_final += step->is_final;
            if (step->kind != PLAN_SEND)
                continue;
            assert_int_equal(step->from.first,
                             2 * (is_given ? step->peer : shape.rank));
            *(is_given ? &given_to : &made_to) |= 1U << step->peer;
        }
        assert_int_equal(n_final, 1);
        assert_int_equal(given_to, 0x1f & ~(1U << shape.rank));
        assert_int_equal(made_to, 0x1f & ~(1U << shape.rank));
    }
    plan_deinit(&plan);
}

/* Rank 2 of 5: 1 and 0 stand left, then come 4 and 3, right. */
static void
allreduce_pairwise_order_is_down_from_the_owner(void **state)
{
    static const uint32_t peers[] = {1, 0, 4, 3};
    const struct plan_shape shape = {
        .rank = 2, .size = 5, .count = 10, .granule = 1};
    struct plan plan = {0};

    (void)state;
    plan_all(&plan, &shape);
    for (size_t i = 0; i < 4; i++) {
        const struct plan_step *step = &plan.steps[2 * i + 1];

        assert_int_equal(step->kind, PLAN_REDUCE);
        assert_int_equal(step->peer, peers[i]);
        assert_int_equal(step->side,
                         peers[i] < 2 ? PLAN_ARRIVED_LEFT : PLAN_OWN_LEFT);
        assert_int_equal(step->from.buffer, i == 0 ? PLAN_INPUT : PLAN_OUTPUT);
        assert_int_equal(step->is_final, i == 3);
    }
    plan_deinit(&plan);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(allreduce_pairwise_alone_copies_or_rests),
        cmocka_unit_test(allreduce_pairwise_sends_what_it_was_given_and_made),
        cmocka_unit_test(allreduce_pairwise_order_is_down_from_the_owner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
