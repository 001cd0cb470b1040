/* tests/unit/worker/parameters/op_override_test.c - the last one counts */

#include <pthread.h>
#include <string.h>

#include "base/cleanup.h"
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
    assert_ok(hoop_param_op_forward(op));
    assert_ok(hoop_param_op_backward(op));
    trace_expect(&trace, expected);
}

static void
override_of_a_name_counts_until_it_is_released(void **state)
{
    const struct hoop_param_op op = op_named("linear");
    const struct hoop_param_op other = op_named("conv");
    const struct hoop_param_op nameless = op_named(NULL);

    expect_both(&op, "OP OP' ");
    assert_ok(hoop_op_override(&overrides[0]));
    expect_both(&op, "X X' ");
    expect_both(&other, "OP OP' ");
    expect_both(&nameless, "OP OP' ");
    assert_ok(hoop_op_override(&overrides[1]));
    expect_both(&op, "Y Y' ");
    assert_ok(hoop_op_override_release(&overrides[1]));
    expect_both(&op, "X X' ");
    assert_ok(hoop_op_override_release(&overrides[0]));
    expect_both(&op, "OP OP' ");
}

static void
overrides_are_released_in_any_order(void **state)
{
    static const size_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                       {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const char *const texts[] = {"OP OP' ", "X X' ", "Y Y' ", "Z Z' "};
    const struct hoop_param_op op = op_named("linear");

    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        size_t left[4] = {0, 1, 1, 1};

        for (size_t k = 0; k < 3; k++)
            assert_ok(hoop_op_override(&overrides[k]));
        for (size_t k = 0; k < 3; k++) {
            size_t last = 3;

            assert_ok(hoop_op_override_release(&overrides[orders[i][k]]));
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

    overrides[0].backward = NULL;
    overrides[1].forward = NULL;
    assert_ok(hoop_op_override(&overrides[0]));
    expect_both(&op, "X OP' ");
    assert_ok(hoop_op_override(&overrides[1]));
    expect_both(&op, "X Y' ");
    assert_ok(hoop_op_override_release(&overrides[0]));
    expect_both(&op, "OP Y' ");
    assert_ok(hoop_op_override_release(&overrides[1]));
}

static void
override_wants_a_tensor_among_the_operands(void **state)
{
    struct hoop_param_op op = op_named("linear");

    assert_ok(hoop_op_override(&overrides[0]));
    w.kind = HOOP_PARAM_NONMODEL;
    expect_both(&op, "X X' ");
    op.n_operands = 0;
    expect_both(&op, "OP OP' ");
    assert_ok(hoop_op_override_release(&overrides[0]));
}

static void
hooks_are_around_an_override(void **state)
{
    const struct hoop_param_op op = op_named("linear");
    struct hoop_param_hooks scope;
    struct trace_hook a;

    trace_hook_init(&a, "A", &trace);
    const hoop_param_hook_t *const hooks[] = {&a.hook};
    assert_ok(hoop_op_override(&overrides[2]));
    assert_ok(hoop_param_hooks_use(&scope, hooks, 1));
    expect_both(&op, "A.pre_fwd(w) Z A.post_fwd(w) "
                     "A.pre_bwd(w) Z' A.post_bwd(w) ");
    assert_ok(hoop_param_hooks_release(&scope));
    assert_ok(hoop_op_override_release(&overrides[2]));
}

static void
override_that_is_wrong_is_refused(void **state)
{
    struct hoop_op_replacement nameless = {.forward = trace_op_forward};

    assert_int_equal(hoop_op_override(NULL), HOOP_E_INVALID);
    assert_int_equal(hoop_op_override(&nameless), HOOP_E_INVALID);
    assert_int_equal(hoop_op_override_release(NULL), HOOP_E_INVALID);
    assert_int_equal(hoop_op_override_release(&overrides[0]),
                     HOOP_E_PRECONDITION);
    assert_non_null(strstr(error_text(), "not in use"));
    assert_ok(hoop_op_override(&overrides[0]));
    assert_int_equal(hoop_op_override(&overrides[0]), HOOP_E_PRECONDITION);
    assert_non_null(strstr(error_text(), "\"linear\" is in use"));
    assert_ok(hoop_op_override_release(&overrides[0]));
}

static void *
look(void *argument)
{
    const struct hoop_param_op *op = argument;
    const bool is_own =
        op_override_find(op, PARAM_FORWARD).owner == &own &&
        hoop_op_override_release(&overrides[0]) == HOOP_E_PRECONDITION;

    return is_own ? NULL : argument;
}

static void
override_is_its_threads_own(void **state)
{
    struct hoop_param_op op = op_named("linear");
    void *wrong = NULL;
    pthread_t thread;

    assert_ok(hoop_op_override(&overrides[0]));
    assert_int_equal(pthread_create(&thread, NULL, look, &op), 0);
    assert_int_equal(pthread_join(thread, &wrong), 0);
    assert_null(wrong);
    expect_both(&op, "X X' ");
    assert_ok(hoop_op_override_release(&overrides[0]));
}

static struct param_trace param_hooks_trace;
static struct trace_hook a;
static struct trace_hook b;

static struct hoop_param weight = {.name = "w"};
static struct hoop_param *const weights[] = {&weight, &weight};
static const struct hoop_param_list one = {1, weights};
static const struct hoop_param_list two = {2, weights};

static int
param_hooks_setup(void **state)
{
    param_hooks_trace.text[0] = '\0';
    trace_hook_init(&a, "A", &param_hooks_trace);
    trace_hook_init(&b, "B", &param_hooks_trace);
    return 0;
}

static void
expect_active(const char *expected)
{
    assert_ok(param_hooks_call(PARAM_PRE_FORWARD, &one, "op"));
    assert_int_equal(param_hooks_are_active(), *expected != '\0');
    trace_expect(&param_hooks_trace, expected);
}

static void
hooks_are_called_in_their_order_in_all_phases(void **state)
{
    const hoop_param_hook_t *const hooks[] = {&b.hook, &a.hook};
    struct hoop_param_hooks scope;

    assert_ok(hoop_param_hooks_use(&scope, hooks, 2));
    for (int phase = PARAM_PRE_FORWARD; phase <= PARAM_POST_BACKWARD; phase++)
        assert_ok(param_hooks_call((enum param_phase)phase, &two, "op"));
    trace_expect(&param_hooks_trace, "B.pre_fwd(w,w) A.pre_fwd(w,w) "
                                     "B.post_fwd(w,w) A.post_fwd(w,w) "
                                     "B.pre_bwd(w,w) A.pre_bwd(w,w) "
                                     "B.post_bwd(w,w) A.post_bwd(w,w) ");
    assert_ok(hoop_param_hooks_release(&scope));
    expect_active("");
}

static void
scope_replaces_and_its_release_restores(void **state)
{
    const hoop_param_hook_t *const only_a[] = {&a.hook};
    const hoop_param_hook_t *const only_b[] = {&b.hook};
    struct hoop_param_hooks scopes[3];

    expect_active("");
    assert_ok(hoop_param_hooks_use(&scopes[0], only_a, 1));
    expect_active("A.pre_fwd(w) ");
    assert_ok(hoop_param_hooks_use(&scopes[1], NULL, 0));
    expect_active("");
    assert_ok(hoop_param_hooks_use(&scopes[2], only_b, 1));
    expect_active("B.pre_fwd(w) ");
    assert_ok(hoop_param_hooks_release(&scopes[2]));
    expect_active("");
    assert_ok(hoop_param_hooks_release(&scopes[1]));
    expect_active("A.pre_fwd(w) ");
    assert_ok(hoop_param_hooks_release(&scopes[0]));
    expect_active("");
    /* The memory can be used again. */
    assert_ok(hoop_param_hooks_use(&scopes[2], only_b, 1));
    expect_active("B.pre_fwd(w) ");
    assert_ok(hoop_param_hooks_release(&scopes[2]));
}

static void
release_in_the_wrong_order_changes_nothing(void **state)
{
    const hoop_param_hook_t *const only_a[] = {&a.hook};
    struct hoop_param_hooks scopes[3];

    for (size_t i = 0; i < COUNT_OF(scopes); i++)
        assert_ok(hoop_param_hooks_use(&scopes[i], only_a, i % 2));
    assert_int_equal(hoop_param_hooks_release(&scopes[0]), HOOP_E_PRECONDITION);
    assert_non_null(strstr(error_text(), "2 used after this scope"));
    assert_int_equal(hoop_param_hooks_use(&scopes[0], NULL, 0),
                     HOOP_E_PRECONDITION);
    assert_non_null(strstr(error_text(), "in use"));
    expect_active("");
    for (size_t i = COUNT_OF(scopes); i > 0; i--)
        assert_ok(hoop_param_hooks_release(&scopes[i - 1]));
    assert_int_equal(hoop_param_hooks_release(&scopes[0]), HOOP_E_PRECONDITION);
    assert_non_null(strstr(error_text(), "not in use on this thread"));
}

static void
hook_that_fails_ends_the_call_and_not_the_scope(void **state)
{
    const hoop_param_hook_t *const hooks[] = {&a.hook, &b.hook};
    struct hoop_param_hooks outer;
    struct hoop_param_hooks scope;

    a.fails_at = "post_fwd";
    assert_ok(hoop_param_hooks_use(&outer, &hooks[1], 1));
    assert_ok(hoop_param_hooks_use(&scope, hooks, 2));
    assert_int_equal(param_hooks_call(PARAM_POST_FORWARD, &one, "matmul"),
                     HOOP_E_ABORTED);
    assert_string_equal(error_text(),
                        "post_forward of operation \"matmul\": ABORTED");
    trace_expect(&param_hooks_trace, "A.post_fwd(w) ");
    expect_active("A.pre_fwd(w) B.pre_fwd(w) ");
    assert_ok(hoop_param_hooks_release(&scope));
    expect_active("B.pre_fwd(w) ");
    assert_ok(hoop_param_hooks_release(&outer));
}

static void
hook_without_a_phase_is_passed_over(void **state)
{
    const hoop_param_hook_t *const hooks[] = {&a.hook, &b.hook};
    struct hoop_param_hooks scope;

    a.hook.pre_forward = NULL;
    assert_ok(hoop_param_hooks_use(&scope, hooks, 2));
    expect_active("B.pre_fwd(w) ");
    assert_ok(hoop_param_hooks_release(&scope));
}

static void
scope_that_is_wrong_is_refused(void **state)
{
    const hoop_param_hook_t *const hooks[] = {&a.hook, NULL};
    struct hoop_param_hooks scope;

    assert_int_equal(hoop_param_hooks_use(NULL, hooks, 1), HOOP_E_INVALID);
    assert_int_equal(hoop_param_hooks_use(&scope, NULL, 1), HOOP_E_INVALID);
    assert_int_equal(hoop_param_hooks_use(&scope, hooks, 2), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "hooks[1] is NULL"));
    assert_int_equal(hoop_param_hooks_release(NULL), HOOP_E_INVALID);
    assert_false(param_hooks_are_active());
}

enum {
    N_THREADS = 4,
    N_TURNS = 500,
};

static enum hoop_status
count_call(const struct hoop_param_list *params, void *owner)
{
    *(size_t *)owner += params->n_params;
    return HOOP_OK;
}

/* NULL: all as it should be. foreign: in use on another thread. */
static const char *
run_turns(struct hoop_param_hooks *foreign)
{
    size_t count = 0;
    const hoop_param_hook_t hook = {.pre_backward = count_call,
                                    .owner = &count};
    const hoop_param_hook_t *const hooks[] = {&hook};

    if (param_hooks_are_active())
        return "began with hooks";
    if (hoop_param_hooks_release(foreign) != HOOP_E_PRECONDITION)
        return "released what another thread uses";
    for (int i = 0; i < N_TURNS; i++) {
        struct hoop_param_hooks scope;

        if (hoop_param_hooks_use(&scope, hooks, 1) != HOOP_OK ||
            param_hooks_call(PARAM_PRE_BACKWARD, &two, "op") != HOOP_OK ||
            hoop_param_hooks_release(&scope) != HOOP_OK)
            return "a turn failed";
    }
    return count == 2 * N_TURNS ? NULL : "somebody else's hooks were called";
}

static void *
thread_body(void *foreign)
{
    return (void *)(uintptr_t)run_turns(foreign);
}

static void
threads_have_hooks_of_their_own(void **state)
{
    const hoop_param_hook_t *const only_a[] = {&a.hook};
    struct hoop_param_hooks scope;
    pthread_t threads[N_THREADS];

    assert_ok(hoop_param_hooks_use(&scope, only_a, 1));
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, thread_body, &scope),
                         0);
    for (int i = 0; i < N_THREADS; i++) {
        void *why = NULL;

        assert_int_equal(pthread_join(threads[i], &why), 0);
        assert_null(why);
    }
    expect_active("A.pre_fwd(w) ");
    assert_ok(hoop_param_hooks_release(&scope));
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
        cmocka_unit_test_setup(hooks_are_called_in_their_order_in_all_phases,
                               param_hooks_setup),
        cmocka_unit_test_setup(scope_replaces_and_its_release_restores,
                               param_hooks_setup),
        cmocka_unit_test_setup(release_in_the_wrong_order_changes_nothing,
                               param_hooks_setup),
        cmocka_unit_test_setup(hook_that_fails_ends_the_call_and_not_the_scope,
                               param_hooks_setup),
        cmocka_unit_test_setup(hook_without_a_phase_is_passed_over,
                               param_hooks_setup),
        cmocka_unit_test_setup(scope_that_is_wrong_is_refused,
                               param_hooks_setup),
        cmocka_unit_test_setup(threads_have_hooks_of_their_own,
                               param_hooks_setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
