/* tests/unit/tools/hooprun/ends_test.c - who ended first is told first */

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "hooprun/ends.h"

enum {
    N_CHILDREN = 16,
};

static pid_t
child_start(void)
{
    const pid_t pid = fork();

    if (pid == 0) {
        pause();
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

/* It has ended, and is not reaped. */
static void
child_end(pid_t pid)
{
    siginfo_t ended = {0};

    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
}

static void
ends_are_told_in_their_order(void **state)
{
    struct ends ends;
    pid_t pids[N_CHILDREN];

    (void)state;
    ends_open(&ends);
    for (uint32_t i = 0; i < N_CHILDREN; i++) {
        pids[i] = child_start();
        ends_add(&ends, i, pids[i]);
    }
    assert_int_equal(ends_next(&ends), -1);
    /* Another order than that of their starts: 0, 5, 10, 15, 4, ... */
    for (uint32_t i = 0; i < N_CHILDREN; i++)
        child_end(pids[i * 5 % N_CHILDREN]);
    for (uint32_t i = 0; i < N_CHILDREN; i++)
        assert_int_equal(ends_next(&ends), i * 5 % N_CHILDREN);
    assert_int_equal(ends_next(&ends), -1);
    for (uint32_t i = 0; i < N_CHILDREN; i++)
        assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
    ends_close(&ends);
}

static void
ends_without_a_descriptor_are_not_told(void **state)
{
    struct ends ends = {-1};

    (void)state;
    ends_add(&ends, 0, getpid());
    assert_int_equal(ends_next(&ends), -1);
    ends_close(&ends);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_are_told_in_their_order),
        cmocka_unit_test(ends_without_a_descriptor_are_not_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
