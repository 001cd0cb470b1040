/* tests/unit/worker/parameters/param_hooks_test.c - scopes of active hooks */

#include <pthread.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "param_trace.h"
#include "parameters/param_op.h"

static struct param_trace trace;
static struct trace_hook a;
static struct trace_hook b;

static struct hoop_param weight = {.name = "w"};
static struct hoop_param *const weights[] = {&weight, &weight};
static const struct hoop_param_list one = {1, weights};
static const struct hoop_param_list two = {2, weights};

static int
setup(void **state)
{
    (void)state;
    trace.text[0] = '\0';
    trace_hook_init(&a, "A", &trace);
    trace_hook_init(&b, "B", &trace);
    return 0;
}

static void
expect_active(const char *expected)
{
    assert_int_equal(param_hooks_call(PARAM_PRE_FORWARD, &one, "op"), HOOP_OK);
    assert_int_equal(param_hooks_are_active(), *expected != '\0');
    trace_expect(&trace, expected);
}

static void
hooks_are_called_in_their_order_in_all_phases(void **state)
{
    const hoop_param_hook_t *const hooks[] = {&b.hook, &a.hook};
    struct hoop_param_hooks scope;

    (void)state;
    assert_int_equal(hoop_param_hooks_use(&scope, hooks, 2), HOOP_OK);
    for (int phase = PARAM_PRE_FORWARD; phase <= PARAM_POST_BACKWARD; phase++)
        assert_int_equal(param_hooks_call((enum param_phase)phase, &two, "op"),
                         HOOP_OK);
    trace_expect(&trace, "B.pre_fwd(w,w) A.pre_fwd(w,w) "
                         "B.post_fwd(w,w) A.post_fwd(w,w) "
                         "B.pre_bwd(w,w) A.pre_bwd(w,w) "
                         "B.post_bwd(w,w) A.post_bwd(w,w) ");
    assert_int_equal(hoop_param_hooks_release(&scope), HOOP_OK);
    expect_active("");
}

static void
scope_replaces_and_its_release_restores(void **state)
{
    const hoop_param_hook_t *const only_a[] = {&a.hook};
    const hoop_param_hook_t *const only_b[] = {&b.hook};
    struct hoop_param_hooks scopes[3];

    (void)state;
    expect_active("");
    assert_int_equal(hoop_param_hooks_use(&scopes[0], only_a, 1), HOOP_OK);
    expect_active("A.pre_fwd(w) ");
    assert_int_equal(hoop_param_hooks_use(&scopes[1], NULL, 0), HOOP_OK);
    expect_active("");
    assert_int_equal(hoop_param_hooks_use(&scopes[2], only_b, 1), HOOP_OK);
    expect_active("B.pre_fwd(w) ");
    assert_int_equal(hoop_param_hooks_release(&scopes[2]), HOOP_OK);
    expect_active("");
    assert_int_equal(hoop_param_hooks_release(&scopes[1]), HOOP_OK);
    expect_active("A.pre_fwd(w) ");
    assert_int_equal(hoop_param_hooks_release(&scopes[0]), HOOP_OK);
    expect_active("");
    /* The memory can be used again. */
    assert_int_equal(hoop_param_hooks_use(&scopes[2], only_b, 1), HOOP_OK);
    expect_active("B.pre_fwd(w) ");
    assert_int_equal(hoop_param_hooks_release(&scopes[2]), HOOP_OK);
}

static void
release_in_the_wrong_order_changes_nothing(void **state)
{
    const hoop_param_hook_t *const only_a[] = {&a.hook};
    struct hoop_param_hooks scopes[3];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(scopes); i++)
        assert_int_equal(hoop_param_hooks_use(&scopes[i], only_a, i % 2),
                         HOOP_OK);
    assert_int_equal(hoop_param_hooks_release(&scopes[0]), HOOP_E_PRECONDITION);
    assert_non_null(strstr(error_text(), "2 used after this scope"));
    assert_int_equal(hoop_param_hooks_use(&scopes[0], NULL, 0),
                     HOOP_E_PRECONDITION);
    assert_non_null(strstr(error_text(), "in use"));
    expect_active("");
    for (size_t i = COUNT_OF(scopes); i > 0; i--)
        assert_int_equal(hoop_param_hooks_release(&scopes[i - 1]), HOOP_OK);
    assert_int_equal(hoop_param_hooks_release(&scopes[0]), HOOP_E_PRECONDITION);
    assert_non_null(strstr(error_text(), "not in use on this thread"));
}

static void
hook_that_fails_ends_the_call_and_not_the_scope(void **state)
{
    const hoop_param_hook_t *const hooks[] = {&a.hook, &b.hook};
    struct hoop_param_hooks outer;
    struct hoop_param_hooks scope;

    (void)state;
    a.fails_at = "post_fwd";
    assert_int_equal(hoop_param_hooks_use(&outer, &hooks[1], 1), HOOP_OK);
    assert_int_equal(hoop_param_hooks_use(&scope, hooks, 2), HOOP_OK);
    assert_int_equal(param_hooks_call(PARAM_POST_FORWARD, &one, "matmul"),
                     HOOP_E_ABORTED);
    assert_string_equal(error_text(),
                        "post_forward of operation \"matmul\": ABORTED");
    trace_expect(&trace, "A.post_fwd(w) ");
    expect_active("A.pre_fwd(w) B.pre_fwd(w) ");
    assert_int_equal(hoop_param_hooks_release(&scope), HOOP_OK);
    expect_active("B.pre_fwd(w) ");
    assert_int_equal(hoop_param_hooks_release(&outer), HOOP_OK);
}

static void
hook_without_a_phase_is_passed_over(void **state)
{
    const hoop_param_hook_t *const hooks[] = {&a.hook, &b.hook};
    struct hoop_param_hooks scope;

    (void)state;
    a.hook.pre_forward = NULL;
    assert_int_equal(hoop_param_hooks_use(&scope, hooks, 2), HOOP_OK);
    expect_active("B.pre_fwd(w) ");
    assert_int_equal(hoop_param_hooks_release(&scope), HOOP_OK);
}

static void
scope_that_is_wrong_is_refused(void **state)
{
    const hoop_param_hook_t *const hooks[] = {&a.hook, NULL};
    struct hoop_param_hooks scope;

    (void)state;
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

    (void)state;
    assert_int_equal(hoop_param_hooks_use(&scope, only_a, 1), HOOP_OK);
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, thread_body, &scope),
                         0);
    for (int i = 0; i < N_THREADS; i++) {
        void *why = NULL;

        assert_int_equal(pthread_join(threads[i], &why), 0);
        assert_null(why);
    }
    expect_active("A.pre_fwd(w) ");
    assert_int_equal(hoop_param_hooks_release(&scope), HOOP_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(hooks_are_called_in_their_order_in_all_phases,
                               setup),
        cmocka_unit_test_setup(scope_replaces_and_its_release_restores, setup),
        cmocka_unit_test_setup(release_in_the_wrong_order_changes_nothing,
                               setup),
        cmocka_unit_test_setup(hook_that_fails_ends_the_call_and_not_the_scope,
                               setup),
        cmocka_unit_test_setup(hook_without_a_phase_is_passed_over, setup),
        cmocka_unit_test_setup(scope_that_is_wrong_is_refused, setup),
        cmocka_unit_test_setup(threads_have_hooks_of_their_own, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
