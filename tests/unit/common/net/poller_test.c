/* tests/unit/common/net/poller_test.c - net/poller.c, on real sockets */

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "net/poller.h"

enum {
    WAIT_MS = 20000,
    N_PAIRS = 100,
};

static const struct poller_interest reads = {.reads = true};
static const struct poller_interest writes = {.writes = true};
static const struct poller_interest nothing = {.reads = false};

struct fixture {
    struct poller *poller;
    int near;
    int far;
};

static int
fixture_open(void **state)
{
    static struct fixture fixture;
    int fds[2];

    assert_ok(poller_create(&fixture.poller));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds),
                     0);
    fixture.near = fds[0];
    fixture.far = fds[1];
    *state = &fixture;
    return 0;
}

static int
fixture_close(void **state)
{
    struct fixture *fixture = *state;

    close(fixture->near);
    if (fixture->far >= 0)
        close(fixture->far);
    poller_destroy(fixture->poller);
    return 0;
}

static void
poller_readable_is_reported_until_read(void **state)
{
    struct fixture *fixture = *state;
    struct poller_event events[4];
    char byte = 'x';

    assert_ok(poller_add(fixture->poller, fixture->near, reads, state));
    assert_int_equal(poller_wait(fixture->poller, events, 4, 0), 0);

    assert_int_equal(write(fixture->far, &byte, 1), 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(poller_wait(fixture->poller, events, 4, WAIT_MS), 1);
        assert_ptr_equal(events[0].owner, state);
        assert_true(events[0].can_read);
        assert_false(events[0].can_write);
    }
    assert_int_equal(read(fixture->near, &byte, 1), 1);
    assert_int_equal(poller_wait(fixture->poller, events, 4, 0), 0);
}

static void
poller_change_and_remove_take_effect(void **state)
{
    struct fixture *fixture = *state;
    struct poller_event events[4];

    assert_ok(poller_add(fixture->poller, fixture->near, writes, state));
    assert_int_equal(poller_wait(fixture->poller, events, 4, 0), 1);
    assert_true(events[0].can_write);
    assert_false(events[0].can_read);

    assert_ok(poller_change(fixture->poller, fixture->near, nothing, state));
    assert_int_equal(poller_wait(fixture->poller, events, 4, 0), 0);

    assert_ok(poller_change(fixture->poller, fixture->near, writes, fixture));
    assert_int_equal(poller_wait(fixture->poller, events, 4, 0), 1);
    assert_ptr_equal(events[0].owner, fixture);

    poller_remove(fixture->poller, fixture->near);
    assert_int_equal(poller_wait(fixture->poller, events, 4, 0), 0);
    poller_remove(fixture->poller, fixture->near);
}

static void
poller_hang_up_is_readable(void **state)
{
    struct fixture *fixture = *state;
    struct poller_event events[4];

    assert_ok(poller_add(fixture->poller, fixture->near, reads, state));
    close(fixture->far);
    fixture->far = -1;
    assert_int_equal(poller_wait(fixture->poller, events, 4, WAIT_MS), 1);
    assert_true(events[0].can_read);
}

static void
poller_closed_descriptor_is_refused(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(poller_add(fixture->poller, -1, reads, state),
                     HOOP_E_INTERNAL);
}

static void
poller_wake_before_wait_is_not_lost(void **state)
{
    struct fixture *fixture = *state;
    struct poller_event events[4];
    const uint64_t start_ns = clock_now_ns();

    poller_wake(fixture->poller);
    poller_wake(fixture->poller);
    assert_int_equal(poller_wait(fixture->poller, events, 4, WAIT_MS), 0);
    assert_true(clock_now_ns() - start_ns < WAIT_MS / 2 * CLOCK_NS_PER_MS);

    /* Heard once, it is silent: this wait runs into its timeout. */
    assert_int_equal(poller_wait(fixture->poller, events, 4, 20), 0);
    assert_true(clock_now_ns() - start_ns >= 19 * CLOCK_NS_PER_MS);
}

static void *
wake(void *poller)
{
    poller_wake(poller);
    return NULL;
}

static void
poller_wake_from_another_thread_ends_a_wait(void **state)
{
    struct fixture *fixture = *state;
    struct poller_event events[4];
    pthread_t thread;
    const uint64_t start_ns = clock_now_ns();

    assert_int_equal(pthread_create(&thread, NULL, wake, fixture->poller), 0);
    assert_int_equal(poller_wait(fixture->poller, events, 4, WAIT_MS), 0);
    assert_true(clock_now_ns() - start_ns < WAIT_MS / 2 * CLOCK_NS_PER_MS);
    pthread_join(thread, NULL);
}

static void
poller_bell_takes_no_place_of_an_event(void **state)
{
    struct fixture *fixture = *state;
    struct poller_event event;

    assert_ok(poller_add(fixture->poller, fixture->near, writes, state));
    poller_wake(fixture->poller);
    assert_int_equal(poller_wait(fixture->poller, &event, 1, WAIT_MS), 1);
    assert_ptr_equal(event.owner, state);
}

static void
poller_fd_is_readable_when_events_wait(void **state)
{
    struct fixture *fixture = *state;
    struct pollfd at = {.fd = poller_fd(fixture->poller), .events = POLLIN};

    assert_int_equal(poll(&at, 1, 0), 0);
    assert_ok(poller_add(fixture->poller, fixture->near, writes, state));
    assert_int_equal(poll(&at, 1, WAIT_MS), 1);
}

static void
poller_many_ready_are_all_seen_by_small_waits(void **state)
{
    struct fixture *fixture = *state;
    struct poller_event events[7];
    int fds[N_PAIRS][2];
    bool is_seen[N_PAIRS] = {false};
    size_t n_seen = 0;

    for (size_t i = 0; i < N_PAIRS; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds[i]), 0);
        assert_ok(poller_add(fixture->poller, fds[i][0], writes, &is_seen[i]));
    }
    for (int turn = 0; turn < N_PAIRS && n_seen < N_PAIRS; turn++) {
        const size_t n = poller_wait(fixture->poller, events, 7, 0);

        for (size_t i = 0; i < n; i++) {
            bool *seen = events[i].owner;

            n_seen += !*seen;
            *seen = true;
        }
    }
    assert_int_equal(n_seen, N_PAIRS);
    for (size_t i = 0; i < N_PAIRS; i++) {
        close(fds[i][0]);
        close(fds[i][1]);
    }
}

static void
poller_destroy_of_none_is_fine(void **state)
{
    poller_destroy(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(poller_readable_is_reported_until_read,
                                        fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(poller_change_and_remove_take_effect,
                                        fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(poller_hang_up_is_readable,
                                        fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(poller_closed_descriptor_is_refused,
                                        fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(poller_wake_before_wait_is_not_lost,
                                        fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(
            poller_wake_from_another_thread_ends_a_wait, fixture_open,
            fixture_close),
        cmocka_unit_test_setup_teardown(poller_bell_takes_no_place_of_an_event,
                                        fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(poller_fd_is_readable_when_events_wait,
                                        fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(
            poller_many_ready_are_all_seen_by_small_waits, fixture_open,
            fixture_close),
        cmocka_unit_test(poller_destroy_of_none_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
