/* tests/unit/worker/parameters/op_override_test.c - the last one counts */

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "check.h"
#include "param_trace.h"
#include "parameters/param_op.h"

static struct param_trace trace;
static struct trace_op own;
static struct trace_op mine[3];
static struct hoop_op_replacement overrides[3];

static struct hoop_param w;
static const struct hoop_operand operands[] = {{.param = &w}};

static int
setup(void **state)
{
    static const char *const texts[] = {"X", "Y", "Z"};

    (void)state;
    trace.text[0] = '\0';
    own = (struct trace_op){"OP", &trace, HOOP_OK};
    for (size_t i = 0; i < 3; i++) {
        mine[i] = (struct trace_op){texts[i], &trace, HOOP_OK};
        overrides[i] = (struct hoop_op_replacement){
            .name = "linear",
            .forward = trace_op_forward,
            .backward = trace_op_backward,
            .owner = &mine[i],
        };
    }
    return hoop_param_init("w", NULL, &w) != HOOP_OK;
}

static struct hoop_param_op
op_named(const char *name)
{
    return (struct hoop_param_op){
        .name = name,
        .forward = trace_op_forward,
        .backward = trace_op_backward,
        .operands = operands,
        .n_operands = 1,
        .owner = &own,
    };
}

static void
expect_both(const struct hoop_param_op *op, const char *expected)
{
    assert_int_equal(hoop_param_op_forward(op), HOOP_OK);
    assert_int_equal(hoop_param_op_backward(op), HOOP_OK);
    trace_expect(&trace, expected);
}

static void
override_of_a_name_counts_until_it_is_released(void **state)
{
    const struct hoop_param_op op = op_named("linear");
    const struct hoop_param_op other = op_named("conv");
    const struct hoop_param_op nameless = op_named(NULL);

    (void)state;
    expect_both(&op, "OP OP' ");
    assert_int_equal(hoop_op_override(&overrides[0]), HOOP_OK);
    expect_both(&op, "X X' ");
    expect_both(&other, "OP OP' ");
    expect_both(&nameless, "OP OP' ");
    assert_int_equal(hoop_op_override(&overrides[1]), HOOP_OK);
    expect_both(&op, "Y Y' ");
    assert_int_equal(hoop_op_override_release(&overrides[1]), HOOP_OK);
    expect_both(&op, "X X' ");
    assert_int_equal(hoop_op_override_release(&overrides[0]), HOOP_OK);
    expect_both(&op, "OP OP' ");
}

static void
overrides_are_released_in_any_order(void **state)
{
    static const size_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                       {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const char *const texts[] = {"OP OP' ", "X X' ", "Y Y' ", "Z Z' "};
    const struct hoop_param_op op = op_named("linear");

    (void)state;
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        size_t left[4] = {0, 1, 1, 1};

        for (size_t k = 0; k < 3; k++)
            assert_int_equal(hoop_op_override(&overrides[k]), HOOP_OK);
        for (size_t k = 0; k < 3; k++) {
            size_t last = 3;

            assert_int_equal(hoop_op_override_release(&overrides[orders[i][k]]),
                             HOOP_OK);
            left[orders[i][k] + 1] = 0;
            while (last > 0 && !left[last])
                last--;
            expect_both(&op, texts[last]);
        }
    }
}

static void
override_of_one_direction_leaves_the_other(void **state)
{
    const struct hoop_param_op op = op_named("linear");

    (void)state;
    overrides[0].backward = NULL;
    overrides[1].forward = NULL;
    assert_int_equal(hoop_op_override(&overrides[0]), HOOP_OK);
    expect_both(&op, "X OP' ");
    assert_int_equal(hoop_op_override(&overrides[1]), HOOP_OK);
    expect_both(&op, "X Y' ");
    assert_int_equal(hoop_op_override_release(&overrides[0]), HOOP_OK);
    expect_both(&op, "OP Y' ");
    assert_int_equal(hoop_op_override_release(&overrides[1]), HOOP_OK);
}

static void
override_wants_a_tensor_among_the_operands(void **state)
{
    struct hoop_param_op op = op_named("linear");

    (void)state;
    assert_int_equal(hoop_op_override(&overrides[0]), HOOP_OK);
    w.kind = HOOP_PARAM_NONMODEL;
    expect_both(&op, "X X' ");
    op.n_operands = 0;
    expect_both(&op, "OP OP' ");
    assert_int_equal(hoop_op_override_release(&overrides[0]), HOOP_OK);
}

static void
hooks_are_around_an_override(void **state)
{
    const struct hoop_param_op op = op_named("linear");
    struct hoop_param_hooks scope;
    struct trace_hook a;

    (void)state;
    trace_hook_init(&a, "A", &trace);
    const hoop_param_hook_t *const hooks[] = {&a.hook};
    assert_int_equal(hoop_op_override(&overrides[2]), HOOP_OK);
    assert_int_equal(hoop_param_hooks_use(&scope, hooks, 1), HOOP_OK);
    expect_both(&op, "A.pre_fwd(w) Z A.post_fwd(w) "
                     "A.pre_bwd(w) Z' A.post_bwd(w) ");
    assert_int_equal(hoop_param_hooks_release(&scope), HOOP_OK);
    assert_int_equal(hoop_op_override_release(&overrides[2]), HOOP_OK);
}

static void
override_that_is_wrong_is_refused(void **state)
{
    struct hoop_op_replacement nameless = {.forward = trace_op_forward};

    (void)state;
    assert_int_equal(hoop_op_override(NULL), HOOP_E_INVALID);
    assert_int_equal(hoop_op_override(&nameless), HOOP_E_INVALID);
    assert_int_equal(hoop_op_override_release(NULL), HOOP_E_INVALID);
    assert_int_equal(hoop_op_override_release(&overrides[0]),
                     HOOP_E_PRECONDITION);
    assert_non_null(strstr(error_text(), "not in use"));
    assert_int_equal(hoop_op_override(&overrides[0]), HOOP_OK);
    assert_int_equal(hoop_op_override(&overrides[0]), HOOP_E_PRECONDITION);
    assert_non_null(strstr(error_text(), "\"linear\" is in use"));
    assert_int_equal(hoop_op_override_release(&overrides[0]), HOOP_OK);
}

static void *
look(void *argument)
{
    const struct hoop_param_op *op = argument;
    const bool is_own =
        op_override_find_forward(op).owner == &own &&
        hoop_op_override_release(&overrides[0]) == HOOP_E_PRECONDITION;

    return is_own ? NULL : argument;
}

static void
override_is_its_threads_own(void **state)
{
    struct hoop_param_op op = op_named("linear");
    void *wrong = NULL;
    pthread_t thread;

    (void)state;
    assert_int_equal(hoop_op_override(&overrides[0]), HOOP_OK);
    assert_int_equal(pthread_create(&thread, NULL, look, &op), 0);
    assert_int_equal(pthread_join(thread, &wrong), 0);
    assert_null(wrong);
    expect_both(&op, "X X' ");
    assert_int_equal(hoop_op_override_release(&overrides[0]), HOOP_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(override_of_a_name_counts_until_it_is_released,
                               setup),
        cmocka_unit_test_setup(overrides_are_released_in_any_order, setup),
        cmocka_unit_test_setup(override_of_one_direction_leaves_the_other,
                               setup),
        cmocka_unit_test_setup(override_wants_a_tensor_among_the_operands,
                               setup),
        cmocka_unit_test_setup(hooks_are_around_an_override, setup),
        cmocka_unit_test_setup(override_that_is_wrong_is_refused, setup),
        cmocka_unit_test_setup(override_is_its_threads_own, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
