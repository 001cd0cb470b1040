/* tests/unit/common/net/wakeup_test.c - net/wakeup.c, between processes */

#include <poll.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "net/wakeup.h"

enum {
    WAIT_MS = 5000,
    MORE_THAN_A_PIPE = 70000,
};

static bool
is_heard(int fd, int timeout_ms)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};

    return poll(&ready, 1, timeout_ms) == 1;
}

static void
bell_rings_until_it_is_silenced(void **state)
{
    int fds[2];

    assert_ok(wakeup_open(fds));
    assert_false(is_heard(fds[0], 0));
    wakeup_signal(fds[1]);
    wakeup_signal(fds[1]);
    assert_true(is_heard(fds[0], 0));
    wakeup_clear(fds[0]);
    assert_false(is_heard(fds[0], 0));
    for (unsigned i = 0; i < MORE_THAN_A_PIPE; i++)
        wakeup_signal(fds[1]);
    wakeup_clear(fds[0]);
    assert_false(is_heard(fds[0], 0));
    wakeup_close(fds);
    wakeup_close(fds);
}

static void
other_process_rings_by_the_place(void **state)
{
    struct wakeup_handle place;
    int status = -1;
    int fds[2];

    assert_ok(wakeup_open(fds));
    assert_ok(wakeup_export(fds, &place));
    assert_int_equal(place.pid, getpid());
    const pid_t pid = fork();
    if (pid == 0) {
        int fd = -1;

        wakeup_close(fds);
        if (wakeup_import(&place, &fd) != HOOP_OK)
            _exit(1);
        wakeup_signal(fd);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    assert_true(is_heard(fds[0], WAIT_MS));
    wakeup_close(fds);
}

static void
bell_of_the_dead_may_be_rung(void **state)
{
    struct wakeup_handle place;
    int fds[2];
    int fd = -1;

    assert_ok(wakeup_open(fds));
    assert_ok(wakeup_export(fds, &place));
    assert_ok(wakeup_import(&place, &fd));
    wakeup_close(fds);
    for (unsigned i = 0; i < MORE_THAN_A_PIPE; i++)
        wakeup_signal(fd);
    descriptor_close(fd);
}

static void
place_of_something_else_is_out_of_reach(void **state)
{
    struct wakeup_handle place;
    int fds[2];
    int fd = -1;

    assert_ok(wakeup_open(fds));
    assert_ok(wakeup_export(fds, &place));
    place.inode++;
    assert_int_equal(wakeup_import(&place, &fd), HOOP_E_UNAVAILABLE);
    place.inode--;
    wakeup_close(fds);
    assert_int_equal(wakeup_import(&place, &fd), HOOP_E_UNAVAILABLE);
    place.pid = 0;
    assert_int_equal(wakeup_import(&place, &fd), HOOP_E_UNAVAILABLE);
    assert_int_equal(fd, -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bell_rings_until_it_is_silenced),
        cmocka_unit_test(other_process_rings_by_the_place),
        cmocka_unit_test(bell_of_the_dead_may_be_rung),
        cmocka_unit_test(place_of_something_else_is_out_of_reach),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
