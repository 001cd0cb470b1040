/* tests/unit/worker/session/fork_test.c - what a child drops */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "net/wakeup.h"
#include "session/comm.h"
#include "session/fork.h"

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
    struct fork_watch watch = {.on_fork_child = count, .owner = &n_calls};
    struct fork_watch other = watch;
    const int fd = dup(1);

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

static void
host_name_is_not_empty(void **state)
{
    char name[LIMIT_NAME];

    host_name(name);
    assert_true(name[0] != '\0');
}

static void
host_id_is_equal_in_another_process(void **state)
{
    char id[LIMIT_NAME];
    int how = 0;

    host_id("", id);
    assert_true(strlen(id) > 30);
    const pid_t child = fork();
    if (child == 0) {
        char other[LIMIT_NAME];

        host_id("", other);
        _exit(strcmp(id, other));
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
}

static void
host_id_differs_in_another_network_namespace(void **state)
{
    enum {
        FORBIDDEN = 2
    };
    char id[LIMIT_NAME];
    int how = 0;

    host_id("", id);
    const pid_t child = fork();
    if (child == 0) {
        char other[LIMIT_NAME];

        if (unshare(CLONE_NEWNET) != 0)
            _exit(FORBIDDEN);
        host_id("", other);
        _exit(strcmp(id, other) == 0);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    if (WEXITSTATUS(how) == FORBIDDEN)
        skip();
    assert_int_equal(how, 0);
}

static void
host_id_is_what_the_user_says(void **state)
{
    char id[LIMIT_NAME];

    host_id("node-7", id);
    assert_string_equal(id, "node-7");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fork_closes_and_tells_while_a_session_lives),
        cmocka_unit_test(host_name_is_not_empty),
        cmocka_unit_test(host_id_is_equal_in_another_process),
        cmocka_unit_test(host_id_differs_in_another_network_namespace),
        cmocka_unit_test(host_id_is_what_the_user_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
