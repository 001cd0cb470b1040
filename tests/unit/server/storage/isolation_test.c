/* tests/unit/server/storage/isolation_test.c - whatever happens stays in the
 * child */

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
/* after cmocka */
#include "base/error.h"
#include "storage/isolation.h"

enum {
    DEADLINE_MS = 20000,
};

static int touched;

static enum hoop_status
child_succeed(void *owner)
{
    ++*(int *)owner;
    return HOOP_OK;
}

static enum hoop_status
child_fail(void *owner)
{
    return error_raise(HOOP_E_PRECONDITION, "page %d is odd", 7);
}

static enum hoop_status
child_end_by(void *owner)
{
    const int number = *(const int *)owner;

    if (number == SIGABRT)
        abort();
    raise(number);
    return HOOP_OK;
}

static enum hoop_status
child_exit(void *owner)
{
    _exit(0);
}

static enum hoop_status
child_sleep(void *owner)
{
    poll(NULL, 0, -1);
    return HOOP_OK;
}

static void
verdict_comes_from_the_child(void **state)
{
    assert_ok(isolation_run_in_child(child_succeed, &touched, DEADLINE_MS));
    assert_int_equal(touched, 0);
    assert_int_equal(isolation_run_in_child(child_fail, NULL, DEADLINE_MS),
                     HOOP_E_PRECONDITION);
    assert_string_equal(error_text(), "page 7 is odd");
}

static void
signal_that_ends_the_child_is_named(void **state)
{
    static const struct {
        int number;
        const char *name;
    } ends[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGABRT, "SIGABRT"}};
    int killing = SIGKILL;

    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        int number = ends[i].number;

        assert_int_equal(
            isolation_run_in_child(child_end_by, &number, DEADLINE_MS),
            HOOP_E_DATA_LOSS);
        assert_non_null(strstr(error_text(), ends[i].name));
    }
    /* The kernel's, for want of memory: that says nothing of what is
     * checked. */
    assert_int_equal(
        isolation_run_in_child(child_end_by, &killing, DEADLINE_MS),
        HOOP_E_EXHAUSTED);
    assert_non_null(strstr(error_text(), "was killed"));
    assert_int_equal(isolation_run_in_child(child_exit, NULL, DEADLINE_MS),
                     HOOP_E_DATA_LOSS);
    assert_non_null(strstr(error_text(), "without a word"));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* none is left */
}

static void
child_that_does_not_end_is_ended(void **state)
{
    assert_int_equal(isolation_run_in_child(child_sleep, NULL, 10),
                     HOOP_E_TIMEOUT);
    assert_non_null(strstr(error_text(), "in time"));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* Some CI agents start their programs so. */
static void
program_that_ignores_its_children_hears_of_them(void **state)
{
    int number = SIGSEGV;

    signal(SIGCHLD, SIG_IGN);
    assert_ok(isolation_run_in_child(child_succeed, &touched, DEADLINE_MS));
    assert_int_equal(isolation_run_in_child(child_fail, NULL, DEADLINE_MS),
                     HOOP_E_PRECONDITION);
    assert_int_equal(isolation_run_in_child(child_end_by, &number, DEADLINE_MS),
                     HOOP_E_DATA_LOSS);
    signal(SIGCHLD, SIG_DFL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdict_comes_from_the_child),
        cmocka_unit_test(signal_that_ends_the_child_is_named),
        cmocka_unit_test(child_that_does_not_end_is_ended),
        cmocka_unit_test(program_that_ignores_its_children_hears_of_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
