/* tests/unit/worker/parameters/param_operands_test.c - lists in lists */

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "parameters/param_op.h"

enum {
    N_PARAMS = 4,
    OPERANDS_MAX = 64,
};

/* 0 and 1 are parameters, 2 is another tensor, which its module has registered,
 * 3 a parameter without a gradient: registration says nothing to hooks. */
static struct hoop_param params[N_PARAMS] = {
    {.kind = HOOP_PARAM_MODEL, .is_registered = true, .requires_grad = true},
    {.kind = HOOP_PARAM_MODEL, .requires_grad = true},
    {.kind = HOOP_PARAM_NONMODEL, .is_registered = true, .requires_grad = true},
    {.kind = HOOP_PARAM_MODEL, .requires_grad = false},
};

/* Operands as text: digits are tensors, parentheses lists, a dot something
 * else. Memory of operands is taken from the pool's end. */
struct pool {
    struct hoop_operand operands[OPERANDS_MAX];
    size_t n_taken;
};

/* Reads up to a closing parenthesis, or the end. */
static size_t
read_list(struct pool *pool, const char **text, struct hoop_operand **out_items)
{
    struct hoop_operand items[8] = {{0}};
    size_t n = 0;

    for (; **text && **text != ')'; (*text)++) {
        if (**text == '(') {
            struct hoop_operand *inner;

            (*text)++;
            items[n].n_items = read_list(pool, text, &inner);
            items[n].items = inner;
        } else if (**text != '.') {
            items[n].param = &params[**text - '0'];
        }
        n++;
    }
    *out_items = &pool->operands[pool->n_taken];
    memcpy(*out_items, items, n * sizeof(*items));
    pool->n_taken += n;
    return n;
}

static void
operands_are_listed_in_order(void **state)
{
    static const struct {
        const char *operands;
        const char *listed; /* parameters */
        struct param_counts counts;
    } rows[] = {
        {"", "", {0, 0, 0}},
        {"...", "", {0, 0, 0}},
        {"()(())", "", {0, 0, 0}},
        {"0", "0", {1, 1, 1}},
        {"2", "", {1, 0, 1}},
        {"3", "3", {1, 1, 0}},
        {"10", "10", {2, 2, 2}},
        {"00(0)", "000", {3, 3, 3}},
        {"1(2(0)3)1.", "1031", {5, 4, 4}},
        {"(((1)0)3)", "103", {3, 3, 2}},
        {"(01)2(10)", "0110", {5, 4, 5}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pool pool = {0};
        struct hoop_operand *operands;
        struct hoop_param *listed[8];
        struct param_counts counts;
        const char *text = rows[i].operands;
        const size_t n = read_list(&pool, &text, &operands);

        assert_int_equal(param_operands_check_count(operands, n, &counts),
                         HOOP_OK);
        assert_int_equal(counts.n_tensors, rows[i].counts.n_tensors);
        assert_int_equal(counts.n_params, rows[i].counts.n_params);
        assert_int_equal(counts.n_need_grads, rows[i].counts.n_need_grads);
        assert_int_equal(param_operands_collect(operands, n, listed),
                         strlen(rows[i].listed));
        for (size_t k = 0; rows[i].listed[k]; k++)
            assert_ptr_equal(listed[k], &params[rows[i].listed[k] - '0']);
    }
}

static void
operands_that_nest_too_deep_are_refused(void **state)
{
    struct hoop_operand lists[HOOP_MAX_NESTING + 1] = {{0}};
    struct hoop_operand endless = {.n_items = 1};
    struct param_counts counts;

    (void)state;
    lists[0].param = &params[0];
    for (size_t i = 1; i < COUNT_OF(lists); i++)
        lists[i] = (struct hoop_operand){.items = &lists[i - 1], .n_items = 1};
    assert_int_equal(
        param_operands_check_count(&lists[HOOP_MAX_NESTING], 1, &counts),
        HOOP_OK);
    assert_int_equal(counts.n_params, 1);
    const struct hoop_operand deeper = {.items = &lists[HOOP_MAX_NESTING],
                                        .n_items = 1};
    assert_int_equal(param_operands_check_count(&deeper, 1, &counts),
                     HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "16 lists"));
    endless.items = &endless;
    assert_int_equal(param_operands_check_count(&endless, 1, &counts),
                     HOOP_E_INVALID);
}

static void
operands_that_are_wrong_are_refused(void **state)
{
    const struct hoop_operand both = {&params[0], &(struct hoop_operand){0}, 1};
    const struct hoop_operand nowhere = {.n_items = 2};
    struct param_counts counts = {7, 7, 7};

    (void)state;
    assert_int_equal(param_operands_check_count(&both, 1, &counts),
                     HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "operand 0 is both"));
    assert_int_equal(param_operands_check_count(&nowhere, 1, &counts),
                     HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "2 operands, but they are NULL"));
    assert_int_equal(param_operands_check_count(NULL, 1, &counts),
                     HOOP_E_INVALID);
    assert_int_equal(counts.n_tensors, 7);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_are_listed_in_order),
        cmocka_unit_test(operands_that_nest_too_deep_are_refused),
        cmocka_unit_test(operands_that_are_wrong_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
