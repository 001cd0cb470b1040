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

    for (uint32_t size = 2; size <= SIZE_MAX_SPELLED; size++) {
        char next = 'A';

        spell(text, size, size / 2);
        for (const char *c = text; *c; c++)
            if (*c != '(' && *c != ')')
                assert_int_equal(*c, next++);
        assert_int_equal(next, 'A' + size);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduce_binomial_result_is_the_same_for_every_root),
        cmocka_unit_test(reduce_binomial_lower_ranks_stand_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
