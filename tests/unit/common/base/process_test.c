/* tests/unit/common/base/process_test.c - base/process.c */

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "check.h"

static void
process_that_is_stopped_is_seen(void **state)
{
    const pid_t child = fork();
    int how;

    (void)state;
    if (child == 0) {
        pause();
        _exit(0);
    }
    assert_false(process_is_stopped((uint32_t)child));
    kill(child, SIGSTOP);
    assert_int_equal(waitpid(child, &how, WUNTRACED), child);
    assert_true(process_is_stopped((uint32_t)child));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_false(process_is_stopped((uint32_t)child));
    assert_int_equal(process_look((uint32_t)child), PROCESS_ENDED);
}

/* Also before anybody has asked how. */
static void
process_that_has_ended_is_seen(void **state)
{
    const pid_t child = fork();
    siginfo_t ended;

    (void)state;
    if (child == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
    assert_int_equal(process_look((uint32_t)child), PROCESS_ENDED);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(process_look((uint32_t)getpid()), PROCESS_RUNS);
}

static void
this_process_and_none_are_not_stopped(void **state)
{
    (void)state;
    assert_false(process_is_stopped((uint32_t)getpid()));
    assert_false(process_is_stopped(0));
    assert_false(process_is_stopped(UINT32_MAX));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(process_that_is_stopped_is_seen),
        cmocka_unit_test(process_that_has_ended_is_seen),
        cmocka_unit_test(this_process_and_none_are_not_stopped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
