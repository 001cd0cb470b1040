/* tests/unit/worker/session/fork_test.c - what a child drops */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "net/descriptor.h"
#include "session/init.h"

static void
count(void *owner)
{
    ++*(int *)owner;
}

static int
is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* Forks; whether the child finds fd open, and how often it was called. */
static int
child_sees(int fd, const int *n_calls)
{
    int how = 0;
    const pid_t child = fork();

    if (child == 0)
        _exit(2 * *n_calls + is_open(fd));
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    return WEXITSTATUS(how);
}

static void
fork_closes_and_tells_while_a_session_lives(void **state)
{
    int n_calls = 0;
    struct fork_watch watch = {.on_child = count, .owner = &n_calls};
    struct fork_watch other = watch;
    const int fd = dup(1);

    (void)state;
    descriptor_track(fd);
    assert_int_equal(child_sees(fd, &n_calls), 1);

    fork_watch_start(&watch);
    fork_watch_start(&other);
    assert_int_equal(child_sees(fd, &n_calls), 4);
    assert_true(is_open(fd));
    assert_int_equal(n_calls, 0);

    fork_watch_stop(&watch);
    assert_int_equal(child_sees(fd, &n_calls), 2);
    fork_watch_stop(&other);
    assert_int_equal(child_sees(fd, &n_calls), 1);
    descriptor_close(fd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fork_closes_and_tells_while_a_session_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
