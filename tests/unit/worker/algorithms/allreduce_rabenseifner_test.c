/* tests/unit/worker/algorithms/allreduce_rabenseifner_test.c - what it
 * promises */

#include "algorithms/algorithms.h"
#include "algorithms/allreduce_rabenseifner.h"
#include "check.h"

static const struct algorithm *const halving =
    &algorithm_allreduce_rabenseifner;

/* The reductions of one rank, in order; returns how many. */
static size_t
reductions_of(const struct algorithm *algorithm,
              const struct plan_shape *shape,
              struct plan_step *out_steps)
{
    struct plan plan = {0};
    size_t n = 0;

    for (uint32_t i = 0; i < algorithm->n_rounds(shape); i++)
        algorithm->plan_round(&plan, shape, i);
    for (size_t i = 0; i < plan.n_steps; i++) {
        if (plan.steps[i].kind == PLAN_REDUCE)
            out_steps[n++] = plan.steps[i];
    }
    plan_deinit(&plan);
    return n;
}

/* The same partners on the same sides: the same expression, the same bits. */
static void
rabenseifner_power_of_two_combines_as_recursive_doubling(void **state)
{
    struct plan_shape shape = {.count = 32, .granule = 1};

    for (shape.size = 2; shape.size <= 32; shape.size *= 2) {
        for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
            struct plan_step these[5];
            struct plan_step those[5];
            const size_t n = reductions_of(halving, &shape, these);

            assert_int_equal(
                n, reductions_of(&algorithm_allreduce_recursive_doubling,
                                 &shape, those));
            for (size_t i = 0; i < n; i++) {
                assert_int_equal(these[i].peer, those[i].peer);
                assert_int_equal(these[i].side, those[i].side);
                assert_int_equal(these[i].is_final, those[i].is_final);
            }
        }
    }
}

/* Each rank has another block then, whose last combination was before. */
static void
rabenseifner_each_block_is_finished_in_the_middle(void **state)
{
    for (uint32_t size = 2; size <= 9; size++) {
        uint32_t finished = 0;

        for (uint32_t rank = 0; rank < size; rank++) {
            const struct plan_shape shape = {
                .rank = rank, .size = size, .count = size, .granule = 1};
            const struct plan_span block =
                allreduce_rabenseifner_own_block(&shape);
            struct plan plan = {0};

            for (uint32_t i = 0;
                 i < allreduce_rabenseifner_middle_round(&shape); i++)
                algorithm_allreduce_rabenseifner.plan_round(&plan, &shape, i);
            assert_int_equal(block.count, 1);
            finished |= UINT32_C(1) << block.first;
            for (size_t i = 0; i < plan.n_steps; i++) {
                if (plan.steps[i].is_final)
                    assert_int_equal(plan.steps[i].to.first, block.first);
            }
            plan_deinit(&plan);
        }
        assert_int_equal(finished, (UINT32_C(1) << size) - 1);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            rabenseifner_power_of_two_combines_as_recursive_doubling),
        cmocka_unit_test(rabenseifner_each_block_is_finished_in_the_middle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
