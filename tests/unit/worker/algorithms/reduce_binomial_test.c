/* tests/unit/worker/algorithms/reduce_binomial_test.c - algorithms/reduce_binomial.c */

#include <stdio.h>
#include <string.h>

#include "algorithms/algorithms.h"
#include "check.h"

static const struct algorithm *const binomial = &algorithm_reduce_binomial;

enum {
    SIZE_MAX_SPELLED = 13,
    TEXT_SIZE = 256,
};

/* Who stands where in the result, and what is combined with what: "((01)2)".
 * One round of all ranks, in lock-step, on one element. */
static void
spell_round(char partial[][TEXT_SIZE], struct plan_shape shape, uint32_t round)
{
    for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
        struct plan plan = {0};
        char both[2 * TEXT_SIZE];

        binomial->plan_round(&plan, &shape, round);
        if (plan.n_steps == 1 && plan.steps[0].kind == PLAN_REDUCE) {
            const char *arrived = partial[plan.steps[0].peer];
            const char *own = partial[shape.rank];
            const bool is_left =
                plan.steps[0].side == PLAN_RECEIVED_IS_LEFT_OPERAND;

            snprintf(both, sizeof(both), "(%s%s)", is_left ? arrived : own,
                     is_left ? own : arrived);
            assert_true(strlen(both) < TEXT_SIZE);
            strcpy(partial[shape.rank], both);
        }
        plan_deinit(&plan);
    }
}

static void
spell(char text[TEXT_SIZE], uint32_t size, uint32_t root)
{
    const struct plan_shape shape = {.size = size, .root = root, .count = 1};
    char partial[SIZE_MAX_SPELLED][TEXT_SIZE];

    for (uint32_t rank = 0; rank < size; rank++)
        snprintf(partial[rank], TEXT_SIZE, "%c", (char)('A' + rank));
    for (uint32_t round = 0; round < binomial->n_rounds(&shape); round++)
        spell_round(partial, shape, round);
    strcpy(text, partial[root]);
}

static void
reduce_binomial_result_is_the_same_for_every_root(void **state)
{
    char first[TEXT_SIZE];
    char text[TEXT_SIZE];

    (void)state;
    spell(text, 6, 3);
    assert_string_equal(text, "(((AB)(CD))(EF))");
    for (uint32_t size = 2; size <= SIZE_MAX_SPELLED; size++) {
        spell(first, size, 0);
        for (uint32_t root = 1; root < size; root++) {
            spell(text, size, root);
            assert_string_equal(text, first);
        }
    }
}

static void
reduce_binomial_lower_ranks_stand_left(void **state)
{
    char text[TEXT_SIZE];

    (void)state;
    for (uint32_t size = 2; size <= SIZE_MAX_SPELLED; size++) {
        char next = 'A';

        spell(text, size, size / 2);
        for (const char *c = text; *c; c++)
            if (*c != '(' && *c != ')')
                assert_int_equal(*c, next++);
        assert_int_equal(next, 'A' + size);
    }
}

/* Rank 4 of six, root 3: it takes from 5 and gives to 3. */
static void
reduce_binomial_middle_combines_into_scratch(void **state)
{
    const struct plan_shape shape = {
        .rank = 4, .size = 6, .root = 3, .count = 5, .is_in_place = true};
    struct plan plan = {0};

    (void)state;
    for (uint32_t round = 0; round < binomial->n_rounds(&shape); round++)
        binomial->plan_round(&plan, &shape, round);
    assert_int_equal(binomial->n_scratch(&shape), 5);
    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].kind, PLAN_REDUCE);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[0].to.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[0].side, PLAN_OWN_IS_LEFT_OPERAND);
    assert_false(plan.steps[0].is_final);
    assert_int_equal(plan.steps[1].kind, PLAN_SEND);
    assert_int_equal(plan.steps[1].from.buffer, PLAN_SCRATCH);
    plan_deinit(&plan);
}

static void
reduce_binomial_leaf_and_root_need_no_scratch(void **state)
{
    struct plan_shape shape = {.size = 33, .root = 32, .count = 5};

    (void)state;
    assert_int_equal(binomial->n_rounds(&shape), 6);
    for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
        const bool is_inner = shape.rank % 2 == 0 && shape.rank != 32;

        assert_int_equal(binomial->n_scratch(&shape), is_inner ? 5 : 0);
    }
}

static void
reduce_binomial_root_finishes_last(void **state)
{
    const struct plan_shape shape = {
        .rank = 2, .size = 4, .root = 2, .count = 5};
    struct plan plan = {0};

    (void)state;
    for (uint32_t round = 0; round < binomial->n_rounds(&shape); round++)
        binomial->plan_round(&plan, &shape, round);
    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[0].to.buffer, PLAN_OUTPUT);
    assert_false(plan.steps[0].is_final);
    assert_int_equal(plan.steps[1].from.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[1].to.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[1].side, PLAN_RECEIVED_IS_LEFT_OPERAND);
    assert_true(plan.steps[1].is_final);
    plan_deinit(&plan);
}

static const struct algorithm *const chain = &algorithm_reduce_chain;

/* Steps of one rank of four, root 2, in place; the chain is 3 0 1 2. */
static struct plan_shape
chain_plan(struct plan *plan, uint32_t rank)
{
    const struct plan_shape shape = {
        .rank = rank, .size = 4, .root = 2, .count = 5, .is_in_place = true};

    plan_clear(plan);
    for (uint32_t round = 0; round < chain->n_rounds(&shape); round++)
        chain->plan_round(plan, &shape, round);
    return shape;
}

static void
reduce_chain_first_sends_its_own(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = chain_plan(&plan, 3);

    (void)state;
    assert_int_equal(chain->n_scratch(&shape), 0);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_SEND);
    assert_int_equal(plan.steps[0].peer, 0);
    plan_deinit(&plan);
}

static void
reduce_chain_middle_combines_into_scratch(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = chain_plan(&plan, 0);

    (void)state;
    assert_int_equal(chain->n_scratch(&shape), 5);
    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].kind, PLAN_REDUCE);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[0].to.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[0].side, PLAN_OWN_IS_LEFT_OPERAND);
    assert_false(plan.steps[0].is_final);
    assert_int_equal(plan.steps[1].from.buffer, PLAN_SCRATCH);
    plan_deinit(&plan);
}

static void
reduce_chain_root_finishes_in_output(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = chain_plan(&plan, 2);

    (void)state;
    assert_int_equal(chain->n_scratch(&shape), 0);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_REDUCE);
    assert_int_equal(plan.steps[0].peer, 1);
    assert_int_equal(plan.steps[0].to.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[0].side, PLAN_RECEIVED_IS_LEFT_OPERAND);
    assert_true(plan.steps[0].is_final);
    plan_deinit(&plan);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduce_binomial_result_is_the_same_for_every_root),
        cmocka_unit_test(reduce_binomial_lower_ranks_stand_left),
        cmocka_unit_test(reduce_binomial_middle_combines_into_scratch),
        cmocka_unit_test(reduce_binomial_leaf_and_root_need_no_scratch),
        cmocka_unit_test(reduce_binomial_root_finishes_last),
        cmocka_unit_test(reduce_chain_first_sends_its_own),
        cmocka_unit_test(reduce_chain_middle_combines_into_scratch),
        cmocka_unit_test(reduce_chain_root_finishes_in_output),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
