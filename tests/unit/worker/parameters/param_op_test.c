/* tests/unit/worker/parameters/param_op_test.c - hooks around operations
 *
 * Traces of two hooks A and B around one operation and two, forward and
 * backward; when nothing is called; and what a failure leaves out.
 */

#include <string.h>

#include "hoop/parameter.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "param_trace.h"

static struct param_trace trace;
static struct trace_hook a;
static struct trace_hook b;
static const hoop_param_hook_t *const both[] = {&a.hook, &b.hook};

static struct hoop_param w;
static struct hoop_param v;
static struct hoop_param x = {.name = "x", .kind = HOOP_PARAM_NONMODEL};

static struct trace_op work;
static struct trace_op work2;

static const struct hoop_operand w_and_x[] = {{.param = &w}, {.param = &x}};
static const struct hoop_operand only_x[] = {{.param = &x}};
static const struct hoop_operand nested[] = {
    {.param = &v},
    {.items =
         (const struct hoop_operand[]){
             {.param = &w},
             {.param = &x},
             {.items = (const struct hoop_operand[]){{.param = &v}},
              .n_items = 1}},
     .n_items = 3},
    {.n_items = 0},
    {.param = &w},
};

static int
setup(void **state)
{
    trace.text[0] = '\0';
    trace_hook_init(&a, "A", &trace);
    trace_hook_init(&b, "B", &trace);
    work = (struct trace_op){"OP", &trace, HOOP_OK};
    work2 = (struct trace_op){"OP2", &trace, HOOP_OK};
    assert_ok(hoop_param_init("w", NULL, &w));
    assert_ok(hoop_param_init("v", NULL, &v));
    x.requires_grad = false;
    return 0;
}

static struct hoop_param_op
op_of(const struct hoop_operand *operands, size_t n_operands)
{
    return (struct hoop_param_op){
        .name = "linear",
        .forward = trace_op_forward,
        .backward = trace_op_backward,
        .operands = operands,
        .n_operands = n_operands,
        .owner = &work,
    };
}

static void
expect_forward(const struct hoop_param_op *op, const char *expected)
{
    assert_ok(hoop_param_op_forward(op));
    trace_expect(&trace, expected);
}

static void
expect_backward(const struct hoop_param_op *op, const char *expected)
{
    assert_ok(hoop_param_op_backward(op));
    trace_expect(&trace, expected);
}

static void
operation_has_its_hooks_around_it(void **state)
{
    const struct hoop_param_op op = op_of(w_and_x, 2);
    struct hoop_param_hooks scope;

    assert_ok(hoop_param_hooks_use(&scope, both, 2));
    expect_forward(&op, "A.pre_fwd(w) B.pre_fwd(w) OP "
                        "A.post_fwd(w) B.post_fwd(w) ");
    expect_backward(&op, "A.pre_bwd(w) B.pre_bwd(w) OP' "
                         "A.post_bwd(w) B.post_bwd(w) ");
    assert_ok(hoop_param_hooks_release(&scope));
}

static void
chained_operations_go_back_in_reverse(void **state)
{
    const struct hoop_param_op op1 = op_of(w_and_x, 2);
    struct hoop_param_op op2 = op_of(nested, 1);
    struct hoop_param_hooks scope;

    op2.owner = &work2;
    assert_ok(hoop_param_hooks_use(&scope, both, 2));
    assert_ok(hoop_param_op_forward(&op1));
    expect_forward(&op2, "A.pre_fwd(w) B.pre_fwd(w) OP "
                         "A.post_fwd(w) B.post_fwd(w) "
                         "A.pre_fwd(v) B.pre_fwd(v) OP2 "
                         "A.post_fwd(v) B.post_fwd(v) ");
    assert_ok(hoop_param_op_backward(&op2));
    expect_backward(&op1, "A.pre_bwd(v) B.pre_bwd(v) OP2' "
                          "A.post_bwd(v) B.post_bwd(v) "
                          "A.pre_bwd(w) B.pre_bwd(w) OP' "
                          "A.post_bwd(w) B.post_bwd(w) ");
    assert_ok(hoop_param_hooks_release(&scope));
}

static void
nested_lists_are_laid_out_with_duplicates(void **state)
{
    const struct hoop_param_op op = op_of(nested, COUNT_OF(nested));
    struct hoop_param_hooks scope;

    assert_ok(hoop_param_hooks_use(&scope, both, 1));
    expect_forward(&op, "A.pre_fwd(v,w,v,w) OP A.post_fwd(v,w,v,w) ");
    assert_ok(hoop_param_hooks_release(&scope));
}

static void
inner_scope_without_hooks_is_silent(void **state)
{
    const struct hoop_param_op op = op_of(w_and_x, 2);
    struct hoop_param_hooks outer;
    struct hoop_param_hooks inner;

    assert_ok(hoop_param_hooks_use(&outer, both, 1));
    assert_ok(hoop_param_hooks_use(&inner, NULL, 0));
    expect_forward(&op, "OP ");
    assert_ok(hoop_param_hooks_release(&inner));
    expect_forward(&op, "A.pre_fwd(w) OP A.post_fwd(w) ");
    assert_ok(hoop_param_hooks_release(&outer));
}

static void
backward_has_the_hooks_of_its_own_time(void **state)
{
    const struct hoop_param_op op = op_of(w_and_x, 2);
    struct hoop_param_hooks scope;

    assert_ok(hoop_param_hooks_use(&scope, both, 1));
    expect_forward(&op, "A.pre_fwd(w) OP A.post_fwd(w) ");
    assert_ok(hoop_param_hooks_release(&scope));
    expect_backward(&op, "OP' ");
    assert_ok(hoop_param_hooks_use(&scope, &both[1], 1));
    expect_backward(&op, "B.pre_bwd(w) OP' B.post_bwd(w) ");
    assert_ok(hoop_param_hooks_release(&scope));
}

static void
operation_without_parameters_is_silent(void **state)
{
    const struct hoop_param_op other = op_of(only_x, 1);
    const struct hoop_param_op none = op_of(NULL, 0);
    struct hoop_param_op internal = op_of(w_and_x, 2);
    struct hoop_param_op nameless = internal;
    struct hoop_param_hooks scope;

    internal.name = "__set__";
    nameless.name = NULL;
    x.requires_grad = true;
    assert_ok(hoop_param_hooks_use(&scope, both, 1));
    expect_forward(&other, "OP ");
    expect_backward(&other, "OP' ");
    expect_forward(&none, "OP ");
    expect_backward(&none, "OP' ");
    expect_forward(&internal, "OP ");
    expect_backward(&internal, "OP' ");
    expect_forward(&nameless, "A.pre_fwd(w) OP A.post_fwd(w) ");
    assert_ok(hoop_param_hooks_release(&scope));
}

static void
backward_without_gradients_is_silent(void **state)
{
    const struct hoop_param_op op = op_of(w_and_x, 2);
    struct hoop_param_hooks scope;

    w.requires_grad = false;
    assert_ok(hoop_param_hooks_use(&scope, both, 1));
    expect_forward(&op, "A.pre_fwd(w) OP A.post_fwd(w) ");
    expect_backward(&op, "OP' ");
    /* One operand that requires it is enough, parameter or not. */
    x.requires_grad = true;
    expect_backward(&op, "A.pre_bwd(w) OP' A.post_bwd(w) ");
    assert_ok(hoop_param_hooks_release(&scope));
}

static void
failure_ends_the_operation(void **state)
{
    static const struct {
        const char *fails_at; /* of B; NULL: the operation */
        const char *expected;
        const char *why;
    } rows[] = {
        {"pre_fwd", "A.pre_fwd(w) B.pre_fwd(w) ", "pre_forward of"},
        {NULL, "A.pre_fwd(w) B.pre_fwd(w) OP ", "forward of"},
        {"post_fwd",
         "A.pre_fwd(w) B.pre_fwd(w) OP A.post_fwd(w) B.post_fwd(w) ",
         "post_forward of"},
    };
    const struct hoop_param_op op = op_of(w_and_x, 2);
    struct hoop_param_hooks scope;

    assert_ok(hoop_param_hooks_use(&scope, both, 2));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        b.fails_at = rows[i].fails_at;
        work.status = rows[i].fails_at ? HOOP_OK : HOOP_E_ABORTED;
        assert_int_equal(hoop_param_op_forward(&op), HOOP_E_ABORTED);
        assert_ptr_equal(strstr(error_text(), rows[i].why), error_text());
        assert_non_null(strstr(error_text(), "\"linear\": ABORTED"));
        trace_expect(&trace, rows[i].expected);
    }
    b.fails_at = NULL;
    work.status = HOOP_OK;
    expect_backward(&op, "A.pre_bwd(w) B.pre_bwd(w) OP' "
                         "A.post_bwd(w) B.post_bwd(w) ");
    assert_ok(hoop_param_hooks_release(&scope));
}

static void
operation_that_is_wrong_calls_nothing(void **state)
{
    const struct hoop_operand twofold[] = {
        {.param = &w, .items = only_x, .n_items = 1}};
    const struct hoop_param_op wrong = op_of(twofold, 1);
    struct hoop_param_op empty = op_of(w_and_x, 2);
    struct hoop_param_hooks scope;

    empty.forward = NULL;
    empty.backward = NULL;
    assert_ok(hoop_param_hooks_use(&scope, both, 2));
    assert_int_equal(hoop_param_op_forward(NULL), HOOP_E_INVALID);
    assert_int_equal(hoop_param_op_backward(NULL), HOOP_E_INVALID);
    assert_int_equal(hoop_param_op_forward(&wrong), HOOP_E_INVALID);
    assert_int_equal(hoop_param_op_backward(&wrong), HOOP_E_INVALID);
    assert_int_equal(hoop_param_op_forward(&empty), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "\"linear\" has no forward"));
    assert_int_equal(hoop_param_op_backward(&empty), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "\"linear\" has no backward"));
    trace_expect(&trace, "");
    assert_ok(hoop_param_hooks_release(&scope));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(operation_has_its_hooks_around_it, setup),
        cmocka_unit_test_setup(chained_operations_go_back_in_reverse, setup),
        cmocka_unit_test_setup(nested_lists_are_laid_out_with_duplicates,
                               setup),
        cmocka_unit_test_setup(inner_scope_without_hooks_is_silent, setup),
        cmocka_unit_test_setup(backward_has_the_hooks_of_its_own_time, setup),
        cmocka_unit_test_setup(operation_without_parameters_is_silent, setup),
        cmocka_unit_test_setup(backward_without_gradients_is_silent, setup),
        cmocka_unit_test_setup(failure_ends_the_operation, setup),
        cmocka_unit_test_setup(operation_that_is_wrong_calls_nothing, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
