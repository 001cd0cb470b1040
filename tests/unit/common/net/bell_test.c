/* tests/unit/common/net/bell_test.c - net/bell.c, between processes */

#include <poll.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "net/bell.h"
#include "net/descriptor.h"

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

    (void)state;
    assert_int_equal(bell_open(fds), HOOP_OK);
    assert_false(is_heard(fds[0], 0));
    bell_ring(fds[1]);
    bell_ring(fds[1]);
    assert_true(is_heard(fds[0], 0));
    bell_silence(fds[0]);
    assert_false(is_heard(fds[0], 0));
    for (unsigned i = 0; i < MORE_THAN_A_PIPE; i++)
        bell_ring(fds[1]);
    bell_silence(fds[0]);
    assert_false(is_heard(fds[0], 0));
    bell_close(fds);
    bell_close(fds);
}

static void
other_process_rings_by_the_place(void **state)
{
    struct bell_place place;
    int status = -1;
    int fds[2];

    (void)state;
    assert_int_equal(bell_open(fds), HOOP_OK);
    assert_int_equal(bell_locate(fds, &place), HOOP_OK);
    assert_int_equal(place.pid, getpid());
    const pid_t pid = fork();
    if (pid == 0) {
        int fd = -1;

        bell_close(fds);
        if (bell_reach(&place, &fd) != HOOP_OK)
            _exit(1);
        bell_ring(fd);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    assert_true(is_heard(fds[0], WAIT_MS));
    bell_close(fds);
}

static void
bell_of_the_dead_may_be_rung(void **state)
{
    struct bell_place place;
    int fds[2];
    int fd = -1;

    (void)state;
    assert_int_equal(bell_open(fds), HOOP_OK);
    assert_int_equal(bell_locate(fds, &place), HOOP_OK);
    assert_int_equal(bell_reach(&place, &fd), HOOP_OK);
    bell_close(fds);
    for (unsigned i = 0; i < MORE_THAN_A_PIPE; i++)
        bell_ring(fd);
    descriptor_close(fd);
}

static void
place_of_something_else_is_out_of_reach(void **state)
{
    struct bell_place place;
    int fds[2];
    int fd = -1;

    (void)state;
    assert_int_equal(bell_open(fds), HOOP_OK);
    assert_int_equal(bell_locate(fds, &place), HOOP_OK);
    place.inode++;
    assert_int_equal(bell_reach(&place, &fd), HOOP_E_UNAVAILABLE);
    place.inode--;
    bell_close(fds);
    assert_int_equal(bell_reach(&place, &fd), HOOP_E_UNAVAILABLE);
    place.pid = 0;
    assert_int_equal(bell_reach(&place, &fd), HOOP_E_UNAVAILABLE);
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
