/* tests/unit/worker/transport/connector_test.c - transport/connector.c */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "check.h"
#include "foyer.h"
#include "net/socket.h"
#include "transport/handshake.h"

static struct foyer foyer;

static int
foyer_set_up(void **state)
{
    (void)state;
    foyer_open(&foyer);
    foyer_start(&foyer);
    return 0;
}

static int
foyer_tear_down(void **state)
{
    (void)state;
    foyer_close(&foyer);
    return 0;
}

/* What is logged while a test runs. */
static int log_fd;
static int stderr_fd;

static int
log_capture(void **state)
{
    (void)state;
    log_fd = memfd_create("log", 0);
    stderr_fd = dup(2);
    assert_true(log_fd >= 0 && stderr_fd >= 0);
    log_configure(LOG_WARNING, LOG_TEXT);
    foyer_open(&foyer);
    return dup2(log_fd, 2) == 2 ? 0 : -1;
}

static int
log_release(void **state)
{
    char text[4096] = "";

    (void)state;
    foyer_close(&foyer);
    log_configure(LOG_OFF, LOG_TEXT);
    dup2(stderr_fd, 2);
    if (pread(log_fd, text, sizeof(text) - 1, 0) > 0)
        print_message("%s", text);
    close(log_fd);
    close(stderr_fd);
    return 0;
}

static void
assert_logged(const char *expected)
{
    char text[4096] = "";

    assert_true(pread(log_fd, text, sizeof(text) - 1, 0) >= 0);
    assert_non_null(strstr(text, expected));
}

static void
dial_connects_both_sides_once(void **state)
{
    (void)state;
    foyer_connect(&foyer, 0, 1);
    foyer_connect(&foyer, 2, 0);
    /* Asking again changes nothing. */
    connector_dial(foyer.booths[0].connector, 1);
    connector_dial(foyer.booths[1].connector, 0);
    foyer_connect(&foyer, 2, 1);
    assert_int_equal(foyer.booths[0].n_connected[1], 1);
    assert_int_equal(foyer.booths[1].n_connected[0], 1);
    assert_int_equal(foyer.booths[0].n_unreachable[1], 0);
}

static void
both_dial(void)
{
    connector_dial(foyer.booths[0].connector, 1);
    connector_dial(foyer.booths[1].connector, 0);
    connector_dial(foyer.booths[2].connector, 1);
    connector_dial(foyer.booths[1].connector, 2);
    foyer_await(&foyer, &foyer.booths[0].n_connected[1], 1);
    foyer_await(&foyer, &foyer.booths[1].n_connected[0], 1);
    foyer_await(&foyer, &foyer.booths[1].n_connected[2], 1);
    foyer_await(&foyer, &foyer.booths[2].n_connected[1], 1);
    foyer_check_ends(&foyer, 0, 1);
    foyer_check_ends(&foyer, 1, 2);
}

static void
two_that_dial_each_other_have_one_connection(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        foyer_open(&foyer);
        foyer_start(&foyer);
        both_dial();
        foyer_connect(&foyer, 2, 0);
        assert_int_equal(foyer.booths[0].n_connected[1], 1);
        assert_int_equal(foyer.booths[1].n_connected[0], 1);
        assert_int_equal(foyer.booths[0].n_unreachable[1], 0);
        assert_int_equal(foyer.booths[1].n_unreachable[0], 0);
        foyer_close(&foyer);
    }
}

static void
strangers_are_closed_without_an_answer(void **state)
{
    static const char http[] = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
    static const uint8_t tls[] = {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3, 9};
    uint8_t random[300];

    (void)state;
    for (size_t i = 0; i < sizeof(random); i++)
        random[i] = (uint8_t)(37 * i + 5);
    stranger_await_end(stranger_open(&foyer, 1, http, sizeof(http) - 1));
    stranger_await_end(stranger_open(&foyer, 1, tls, sizeof(tls)));
    stranger_await_end(stranger_open(&foyer, 1, random, sizeof(random)));
    stranger_await_end(stranger_open(&foyer, 1, "HOOPX", 5));
    stranger_await_end(stranger_open(&foyer, 1, "\0", 1));
    foyer_connect(&foyer, 0, 1);
}

static void
silence_and_half_a_hello_disturb_nobody(void **state)
{
    uint8_t hello[HANDSHAKE_BYTES] = "HOOPHELO";
    int fds[6];

    (void)state;
    for (int i = 0; i < 6; i++)
        fds[i] = stranger_open(&foyer, 1, hello, (size_t)i * 20);
    foyer_connect(&foyer, 0, 1);
    /* Their own time is not over yet. */
    for (int i = 0; i < 6; i++) {
        char byte;

        assert_int_equal(recv(fds[i], &byte, 1, MSG_DONTWAIT), -1);
        assert_int_equal(errno, EAGAIN);
        close(fds[i]);
    }
    foyer_connect(&foyer, 2, 1);
}

/* The right letters and nothing behind them that belongs. */
static void
hello_of_nobody_learns_the_version_and_is_closed(void **state)
{
    const uint8_t hello[HANDSHAKE_BYTES] = "HOOPHELO";
    uint8_t answer[HANDSHAKE_BYTES];
    size_t n_bytes = 0;

    (void)state;
    const int fd = stranger_open(&foyer, 1, hello, sizeof(hello));
    while (n_bytes < sizeof(answer)) {
        const ssize_t n =
            recv(fd, answer + n_bytes, sizeof(answer) - n_bytes, 0);

        if (n > 0)
            n_bytes += (size_t)n;
        else if (n == 0 || errno != EAGAIN)
            break;
    }
    assert_int_equal(n_bytes, sizeof(answer));
    assert_memory_equal(answer, "HOOPCHAL", 8);
    stranger_await_end(fd);
    foyer_connect(&foyer, 0, 1);
}

static void
five_hundred_that_come_and_go_disturb_nobody(void **state)
{
    (void)state;
    for (int i = 0; i < 500; i++)
        close(stranger_open(&foyer, 1, "HOOP", (size_t)i % 5));
    foyer_connect(&foyer, 0, 1);
    foyer_connect(&foyer, 1, 2);
}

static void
oldest_stranger_makes_room_for_the_next(void **state)
{
    enum {
        N_MORE = 3,
        N_STRANGERS = LIMIT_GREETINGS + N_MORE
    };
    struct rlimit files;
    int fds[N_STRANGERS];
    char byte;

    (void)state;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    for (int i = 0; i < N_STRANGERS; i++)
        fds[i] = stranger_open(&foyer, 1, NULL, 0);
    for (int i = 0; i < N_MORE; i++)
        stranger_await_end(fds[i]);
    for (int i = N_MORE; i < N_STRANGERS; i++) {
        assert_int_equal(recv(fds[i], &byte, 1, MSG_DONTWAIT), -1);
        assert_int_equal(errno, EAGAIN);
    }
    /* A peer comes last and stays. */
    foyer_connect(&foyer, 0, 1);
    stranger_await_end(fds[N_MORE]);
    for (int i = N_MORE + 1; i < N_STRANGERS; i++)
        close(fds[i]);
}

static void
refused_dial_is_unreachable_with_a_reason(void **state)
{
    (void)state;
    foyer_open(&foyer);
    /* Nobody listens there any more. */
    close(foyer.booths[1].listen_fd);
    foyer.booths[1].listen_fd = -1;
    foyer_start(&foyer);
    connector_dial(foyer.booths[0].connector, 1);
    foyer_await(&foyer, &foyer.booths[0].n_unreachable[1], 1);
    assert_non_null(strstr(foyer.booths[0].why, "refused"));
    assert_int_equal(foyer.booths[0].n_connected[1], 0);
    /* It keeps to what it said, as the engine does. */
    connector_dial(foyer.booths[1].connector, 0);
    foyer_await(&foyer, &foyer.booths[1].n_unreachable[0], 1);
    assert_non_null(strstr(foyer.booths[1].why, "takes this rank for dead"));
    foyer_connect(&foyer, 1, 2);
    foyer_close(&foyer);
}

static void
wrong_token_is_refused_and_logged(void **state)
{
    (void)state;
    foyer.booths[0].token = "guessed";
    foyer_start(&foyer);
    connector_dial(foyer.booths[0].connector, 1);
    foyer_await(&foyer, &foyer.booths[0].n_unreachable[1], 1);
    assert_int_equal(foyer.booths[1].n_connected[0], 0);
    assert_true(strlen(foyer.booths[0].why) > 0);
    assert_logged("refused a connection from 127.0.0.1:");
    assert_logged("does not know the job's token");
    foyer_connect(&foyer, 2, 1);
}

static void
another_epoch_is_refused_on_both_sides(void **state)
{
    (void)state;
    foyer.booths[0].roster->epoch = 8;
    foyer_start(&foyer);
    connector_dial(foyer.booths[0].connector, 1);
    foyer_await(&foyer, &foyer.booths[0].n_unreachable[1], 1);
    assert_non_null(strstr(foyer.booths[0].why, "epoch 7"));
    assert_logged("epoch 8");
    assert_int_equal(foyer.booths[1].n_connected[0], 0);
    foyer_connect(&foyer, 1, 2);
}

static void
http_request_is_named_in_the_log(void **state)
{
    (void)state;
    foyer_start(&foyer);
    stranger_await_end(stranger_open(&foyer, 1, "GET / HTTP/1.0\r\n\r\n", 18));
    foyer_connect(&foyer, 0, 1);
    assert_logged("refused a connection from 127.0.0.1:");
    assert_logged("no HOOPHELO of a hoop peer");
}

static size_t
log_size(void)
{
    return (size_t)lseek(log_fd, 0, SEEK_END);
}

/* Not one descriptor is left to accept with. */
static void
want_of_descriptors_is_survived_in_peace(void **state)
{
    const struct timespec moment = {.tv_nsec = 5000000};
    struct rlimit files;
    int fds[64];
    int n_fds = 0;

    (void)state;
    foyer_start(&foyer);
    const int stranger = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    getrlimit(RLIMIT_NOFILE, &files);
    const rlim_t before = files.rlim_cur;
    files.rlim_cur = (rlim_t)stranger + 20;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    while (n_fds < 64 && (fds[n_fds] = dup(stranger)) >= 0)
        n_fds++;
    assert_true(n_fds < 64);

    const struct address *address = &foyer.booths[0].roster->members[1].address;
    assert_int_equal(connect(stranger,
                             (const struct sockaddr *)&address->storage,
                             address->n_bytes),
                     0);
    for (int i = 0; i < 2000 && log_size() == 0; i++)
        nanosleep(&moment, NULL);
    /* Long enough for a flood, and for the next try. */
    for (int i = 0; i < 30; i++)
        nanosleep(&moment, NULL);
    assert_logged("cannot accept");
    assert_true(log_size() < 2000);

    while (n_fds > 0)
        close(fds[--n_fds]);
    close(stranger);
    files.rlim_cur = before;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    foyer_connect(&foyer, 0, 1);
}

static void
two_of_a_node_share_memory_if_both_want(void **state)
{
    (void)state;
    foyer_open(&foyer);
    foyer.booths[2].sharing = SHARING_NEVER;
    foyer_start(&foyer);
    foyer_connect(&foyer, 0, 1);
    foyer_connect(&foyer, 2, 1);
    pthread_mutex_lock(&foyer.lock);
    assert_non_null(foyer.booths[0].segments[1]);
    assert_non_null(foyer.booths[1].segments[0]);
    assert_null(foyer.booths[2].segments[1]);
    assert_null(foyer.booths[1].segments[2]);
    pthread_mutex_unlock(&foyer.lock);
    foyer_close(&foyer);
}

/* Whoever of the two insists, and whoever dials. */
static void
two_that_must_share_and_cannot_are_told_why(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        foyer_open(&foyer);
        for (unsigned k = 0; k < 2; k++)
            snprintf(foyer.booths[k].roster->members[1].host_id, LIMIT_NAME,
                     "far");
        foyer.booths[i % 2].sharing = SHARING_ALWAYS;
        foyer_start(&foyer);
        connector_dial(foyer.booths[i / 2].connector, 1 - i / 2);
        foyer_await(&foyer, &foyer.booths[0].n_unreachable[1], 1);
        foyer_await(&foyer, &foyer.booths[1].n_unreachable[0], 1);
        assert_non_null(strstr(foyer.booths[0].why,
                               "ranks 0 and 1 share no memory: they "
                               "are on different nodes"));
        assert_non_null(strstr(foyer.booths[1].why, "ranks 1 and 0"));
        foyer_close(&foyer);
    }
}

/* Leaks and descriptors are the sanitizer's to find. */
static void
destroy_closes_what_is_under_way(void **state)
{
    int fds[8];

    (void)state;
    foyer_open(&foyer);
    foyer_start(&foyer);
    for (int i = 0; i < 8; i++)
        fds[i] = stranger_open(&foyer, 1, "HOOPHELO", 8);
    foyer_connect(&foyer, 0, 1);
    connector_dial(foyer.booths[0].connector, 2);
    connector_dial(foyer.booths[2].connector, 1);
    foyer_close(&foyer);
    for (int i = 0; i < 8; i++)
        stranger_await_end(fds[i]);
    connector_destroy(NULL);
}

#define FOYER_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, foyer_set_up, foyer_tear_down)
#define FOYER_TEST_LOGGED(name)                                                \
    cmocka_unit_test_setup_teardown(name, log_capture, log_release)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        FOYER_TEST(dial_connects_both_sides_once),
        cmocka_unit_test(two_that_dial_each_other_have_one_connection),
        FOYER_TEST(strangers_are_closed_without_an_answer),
        FOYER_TEST(silence_and_half_a_hello_disturb_nobody),
        FOYER_TEST(hello_of_nobody_learns_the_version_and_is_closed),
        FOYER_TEST(five_hundred_that_come_and_go_disturb_nobody),
        FOYER_TEST(oldest_stranger_makes_room_for_the_next),
        cmocka_unit_test(refused_dial_is_unreachable_with_a_reason),
        FOYER_TEST_LOGGED(wrong_token_is_refused_and_logged),
        FOYER_TEST_LOGGED(another_epoch_is_refused_on_both_sides),
        FOYER_TEST_LOGGED(http_request_is_named_in_the_log),
        FOYER_TEST_LOGGED(want_of_descriptors_is_survived_in_peace),
        cmocka_unit_test(two_of_a_node_share_memory_if_both_want),
        cmocka_unit_test(two_that_must_share_and_cannot_are_told_why),
        cmocka_unit_test(destroy_closes_what_is_under_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
