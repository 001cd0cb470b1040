/* tests/unit/worker/transport/connect/connector_test.c - transport/connect/connector.c */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "check.h"
#include "net/socket.h"
#include "test_cluster.h"
#include "transport/connect/handshake.h"

static struct test_cluster test_cluster;

static int
test_cluster_set_up(void **state)
{
    test_cluster_open(&test_cluster);
    test_cluster_start(&test_cluster);
    return 0;
}

static int
test_cluster_tear_down(void **state)
{
    test_cluster_close(&test_cluster);
    return 0;
}

/* What is logged while a test runs. */
static int log_fd;
static int stderr_fd;

static int
log_capture(void **state)
{
    log_fd = memfd_create("log", 0);
    stderr_fd = dup(2);
    assert_true(log_fd >= 0 && stderr_fd >= 0);
    log_configure(LOG_WARNING, LOG_TEXT);
    test_cluster_open(&test_cluster);
    return dup2(log_fd, 2) == 2 ? 0 : -1;
}

static int
log_release(void **state)
{
    char text[4096] = "";

    test_cluster_close(&test_cluster);
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
    test_cluster_connect(&test_cluster, 0, 1);
    test_cluster_connect(&test_cluster, 2, 0);
    /* Asking again changes nothing. */
    connector_dial(test_cluster.test_nodes[0].connector, 1);
    connector_dial(test_cluster.test_nodes[1].connector, 0);
    test_cluster_connect(&test_cluster, 2, 1);
    assert_int_equal(test_cluster.test_nodes[0].n_connected[1], 1);
    assert_int_equal(test_cluster.test_nodes[1].n_connected[0], 1);
    assert_int_equal(test_cluster.test_nodes[0].n_unreachable[1], 0);
}

static void
both_dial(void)
{
    connector_dial(test_cluster.test_nodes[0].connector, 1);
    connector_dial(test_cluster.test_nodes[1].connector, 0);
    connector_dial(test_cluster.test_nodes[2].connector, 1);
    connector_dial(test_cluster.test_nodes[1].connector, 2);
    test_cluster_await(&test_cluster,
                       &test_cluster.test_nodes[0].n_connected[1], 1);
    test_cluster_await(&test_cluster,
                       &test_cluster.test_nodes[1].n_connected[0], 1);
    test_cluster_await(&test_cluster,
                       &test_cluster.test_nodes[1].n_connected[2], 1);
    test_cluster_await(&test_cluster,
                       &test_cluster.test_nodes[2].n_connected[1], 1);
    test_cluster_check_ends(&test_cluster, 0, 1);
    test_cluster_check_ends(&test_cluster, 1, 2);
}

static void
two_that_dial_each_other_have_one_connection(void **state)
{
    for (unsigned i = 0; i < 20; i++) {
        test_cluster_open(&test_cluster);
        test_cluster_start(&test_cluster);
        both_dial();
        test_cluster_connect(&test_cluster, 2, 0);
        assert_int_equal(test_cluster.test_nodes[0].n_connected[1], 1);
        assert_int_equal(test_cluster.test_nodes[1].n_connected[0], 1);
        assert_int_equal(test_cluster.test_nodes[0].n_unreachable[1], 0);
        assert_int_equal(test_cluster.test_nodes[1].n_unreachable[0], 0);
        test_cluster_close(&test_cluster);
    }
}

static void
strangers_are_closed_without_an_answer(void **state)
{
    static const char http[] = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
    static const uint8_t tls[] = {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3, 9};
    uint8_t random[300];

    for (size_t i = 0; i < sizeof(random); i++)
        random[i] = (uint8_t)(37 * i + 5);
    stranger_await_end(stranger_open(&test_cluster, 1, http, sizeof(http) - 1));
    stranger_await_end(stranger_open(&test_cluster, 1, tls, sizeof(tls)));
    stranger_await_end(stranger_open(&test_cluster, 1, random, sizeof(random)));
    stranger_await_end(stranger_open(&test_cluster, 1, "HOOPX", 5));
    stranger_await_end(stranger_open(&test_cluster, 1, "\0", 1));
    test_cluster_connect(&test_cluster, 0, 1);
}

static void
silence_and_half_a_hello_disturb_nobody(void **state)
{
    uint8_t hello[HANDSHAKE_MESSAGE_BYTES] = "HOOPHELO";
    int fds[6];

    for (int i = 0; i < 6; i++)
        fds[i] = stranger_open(&test_cluster, 1, hello, (size_t)i * 20);
    test_cluster_connect(&test_cluster, 0, 1);
    /* Their own time is not over yet. */
    for (int i = 0; i < 6; i++) {
        char byte;

        assert_int_equal(recv(fds[i], &byte, 1, MSG_DONTWAIT), -1);
        assert_int_equal(errno, EAGAIN);
        close(fds[i]);
    }
    test_cluster_connect(&test_cluster, 2, 1);
}

/* The right letters and nothing behind them that belongs. */
static void
hello_of_nobody_learns_the_version_and_is_closed(void **state)
{
    const uint8_t hello[HANDSHAKE_MESSAGE_BYTES] = "HOOPHELO";
    uint8_t answer[HANDSHAKE_MESSAGE_BYTES];
    size_t n_bytes = 0;

    const int fd = stranger_open(&test_cluster, 1, hello, sizeof(hello));
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
    test_cluster_connect(&test_cluster, 0, 1);
}

static void
five_hundred_that_come_and_go_disturb_nobody(void **state)
{
    for (int i = 0; i < 500; i++)
        close(stranger_open(&test_cluster, 1, "HOOP", (size_t)i % 5));
    test_cluster_connect(&test_cluster, 0, 1);
    test_cluster_connect(&test_cluster, 1, 2);
}

enum {
    N_STRANGERS = LIMIT_HANDSHAKES + 20,
/* Under TSan a crowd takes longer than a handshake may, and what is free is taken
 * in another order. */
#if defined(__SANITIZE_THREAD__)
    IS_TIMELY = 0,
#else
    IS_TIMELY = 1,
#endif
};

/* As many files as strangers and their connections take. */
static int
crowd_set_up(void **state)
{
    struct rlimit files;

    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    assert_true(files.rlim_cur > 4 * LIMIT_HANDSHAKES);
    return test_cluster_set_up(state);
}

static bool
has_ended(int fd)
{
    char byte;

    return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0 ||
           (errno != EAGAIN && errno != EINTR);
}

/* Until so many at least have been closed by the other side. */
static void
await_ended(const int *fds, size_t n_fds, size_t n_wanted)
{
    const struct timespec moment = {.tv_nsec = 5000000};
    size_t n_ended = 0;

    for (unsigned i = 0; i < 4000 && n_ended < n_wanted; i++) {
        n_ended = 0;
        for (size_t k = 0; k < n_fds; k++)
            n_ended += has_ended(fds[k]);
        nanosleep(&moment, NULL);
    }
    assert_true(n_ended >= n_wanted);
}

static void
strangers_make_room_for_strangers_and_for_a_peer(void **state)
{
    int fds[N_STRANGERS];

    if (!IS_TIMELY)
        return;
    for (int i = 0; i < N_STRANGERS; i++)
        fds[i] = stranger_open(&test_cluster, 1, NULL, 0);
    await_ended(fds, N_STRANGERS, N_STRANGERS - LIMIT_HANDSHAKES);
    /* A peer comes last and stays. */
    test_cluster_connect(&test_cluster, 0, 1);
    for (int i = 0; i < N_STRANGERS; i++)
        close(fds[i]);
}

static void
receive_all(int fd, uint8_t *bytes, size_t n_bytes)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};

    while (n_bytes > 0) {
        assert_int_equal(poll(&ready, 1, 20000), 1);
        const ssize_t n = recv(fd, bytes, n_bytes, 0);
        assert_true(n > 0);
        bytes += n;
        n_bytes -= (size_t)n;
    }
}

/* A dialer of rank 0 that takes its time, step by step. */
struct slow_peer {
    struct handshake_key key;
    struct handshake handshake;
    int fd;
};

/* However many come, and whatever they say that is not right. */
static void
who_is_about_to_prove_itself_is_never_displaced(void **state)
{
    uint8_t challenge[HANDSHAKE_MESSAGE_BYTES];
    uint8_t proof[HANDSHAKE_MESSAGE_BYTES];
    uint8_t hello[HANDSHAKE_MESSAGE_BYTES];
    struct slow_peer slow = {0};
    int fds[2 * N_STRANGERS];
    enum handshake_answer answer;

    if (!IS_TIMELY)
        return;
    slow.handshake =
        (struct handshake){.key = &slow.key,
                           .roster = test_cluster.test_nodes[0].roster,
                           .peer = 1};
    assert_ok(handshake_key_init(&slow.key, "secret",
                                 test_cluster.test_nodes[0].roster));
    assert_ok(handshake_write_hello(&slow.handshake, hello));
    slow.fd = stranger_open(&test_cluster, 1, hello, sizeof(hello));
    receive_all(slow.fd, challenge, sizeof(challenge));
    for (int i = 0; i < 2 * N_STRANGERS; i++)
        fds[i] = stranger_open(&test_cluster, 1, "HOOPHELO", (size_t)i % 9);
    await_ended(fds, COUNT_OF(fds), COUNT_OF(fds) + 1 - LIMIT_HANDSHAKES);
    assert_ok(handshake_write_proof(&slow.handshake, challenge, proof));
    assert_int_equal(send(slow.fd, proof, sizeof(proof), MSG_NOSIGNAL),
                     sizeof(proof));
    receive_all(slow.fd, proof, sizeof(proof));
    assert_ok(handshake_verify_welcome(&slow.handshake, proof, &answer));
    assert_int_equal(answer, HANDSHAKE_WELCOME);
    test_cluster_await(&test_cluster,
                       &test_cluster.test_nodes[1].n_connected[0], 1);
    close(slow.fd);
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        close(fds[i]);
}

/* Accepts and closes for longer than a refusal is put up with. */
static void *
turn_away(void *owner)
{
    const int fd = *(const int *)owner;
    const uint64_t until_ns = clock_deadline_ns(1500);
    struct pollfd ready = {.fd = fd, .events = POLLIN};

    while (!clock_is_past(until_ns)) {
        const int accepted =
            poll(&ready, 1, 50) == 1 ? accept(fd, NULL, NULL) : -1;

        if (accepted >= 0)
            close(accepted);
    }
    return NULL;
}

static void
dial_that_is_closed_in_the_handshake_is_tried_again(void **state)
{
    pthread_t thread;

    test_cluster_open(&test_cluster);
    const int fd = test_cluster.test_nodes[1].listen_fd;
    test_cluster.test_nodes[1].listen_fd = -1;
    test_cluster_start(&test_cluster);
    assert_int_equal(
        pthread_create(&thread, NULL, turn_away, (void *)(uintptr_t)&fd), 0);
    connector_dial(test_cluster.test_nodes[0].connector, 1);
    pthread_join(thread, NULL);
    assert_int_equal(test_cluster.test_nodes[0].n_unreachable[1], 0);
    /* Nobody is there any more: soon said. */
    const uint64_t begin_ns = clock_now_ns();
    close(fd);
    test_cluster_await(&test_cluster,
                       &test_cluster.test_nodes[0].n_unreachable[1], 1);
    assert_true(clock_now_ns() - begin_ns < 2 * CLOCK_NS_PER_S);
    assert_non_null(strstr(test_cluster.test_nodes[0].why, "refused"));
    assert_non_null(
        strstr(test_cluster.test_nodes[0].why, "no connection to 127.0.0.1:"));
    test_cluster_close(&test_cluster);
}

/* Every descriptor but n_left. */
struct hoard {
    int fds[64];
    int n_fds;
    rlim_t before;
};

static void
hoard_take(struct hoard *hoard, int n_left)
{
    struct rlimit files;

    getrlimit(RLIMIT_NOFILE, &files);
    hoard->before = files.rlim_cur;
    hoard->n_fds = 0;
    hoard->fds[0] = dup(0);
    files.rlim_cur = (rlim_t)hoard->fds[0] + 30;
    close(hoard->fds[0]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    while (hoard->n_fds < 64 && (hoard->fds[hoard->n_fds] = dup(0)) >= 0)
        hoard->n_fds++;
    while (n_left-- > 0)
        close(hoard->fds[--hoard->n_fds]);
}

static void
hoard_give(struct hoard *hoard)
{
    struct rlimit files;

    while (hoard->n_fds > 0)
        close(hoard->fds[--hoard->n_fds]);
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = hoard->before;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
}

static void
dial_without_a_descriptor_names_the_limit_and_blames_nobody(void **state)
{
    struct hoard hoard;

    hoard_take(&hoard, 0);
    connector_dial(test_cluster.test_nodes[0].connector, 1);
    test_cluster_await(&test_cluster, &test_cluster.test_nodes[0].n_short[1],
                       1);
    hoard_give(&hoard);
    assert_int_equal(test_cluster.test_nodes[0].short_of, 0);
    assert_int_equal(test_cluster.test_nodes[0].short_status, HOOP_E_EXHAUSTED);
    assert_non_null(strstr(test_cluster.test_nodes[0].why, "RLIMIT_NOFILE"));
    assert_int_equal(test_cluster.test_nodes[0].n_unreachable[1], 0);
    /* With descriptors it is dialed as if nothing had been. */
    test_cluster_connect(&test_cluster, 0, 1);
}

/* One for the dial; what the acceptor keeps in reserve tells the dialer. */
static void
acceptor_without_a_descriptor_tells_who_dials_it(void **state)
{
    struct hoard hoard;

    hoard_take(&hoard, 1);
    connector_dial(test_cluster.test_nodes[0].connector, 1);
    test_cluster_await(&test_cluster, &test_cluster.test_nodes[0].n_short[1],
                       1);
    test_cluster_await(&test_cluster, &test_cluster.test_nodes[1].n_short[0],
                       1);
    hoard_give(&hoard);
    assert_int_equal(test_cluster.test_nodes[0].short_of, 1);
    assert_int_equal(test_cluster.test_nodes[1].short_of, 1);
    assert_non_null(strstr(test_cluster.test_nodes[0].why, "RLIMIT_NOFILE"));
    assert_int_equal(test_cluster.test_nodes[0].n_unreachable[1], 0);
    test_cluster_connect(&test_cluster, 1, 0);
}

static void
refused_dial_is_unreachable_with_a_reason(void **state)
{
    test_cluster_open(&test_cluster);
    /* Nobody listens there any more. */
    close(test_cluster.test_nodes[1].listen_fd);
    test_cluster.test_nodes[1].listen_fd = -1;
    test_cluster_start(&test_cluster);
    connector_dial(test_cluster.test_nodes[0].connector, 1);
    test_cluster_await(&test_cluster,
                       &test_cluster.test_nodes[0].n_unreachable[1], 1);
    assert_non_null(strstr(test_cluster.test_nodes[0].why,
                           ", advertised by rank 1: Connection refused; "
                           "it has ended, or listens no more"));
    assert_int_equal(test_cluster.test_nodes[0].n_connected[1], 0);
    /* It keeps to what it said, as the engine does. */
    connector_dial(test_cluster.test_nodes[1].connector, 0);
    test_cluster_await(&test_cluster,
                       &test_cluster.test_nodes[1].n_unreachable[0], 1);
    assert_non_null(
        strstr(test_cluster.test_nodes[1].why, "has declared this rank dead"));
    test_cluster_connect(&test_cluster, 1, 2);
    test_cluster_close(&test_cluster);
}

static void
dial_that_nothing_answers_is_told_while_it_lasts(void **state)
{
    const struct timespec moment = {.tv_nsec = 10 * 1000 * 1000};
    const uint64_t deadline_ns = clock_deadline_ns(20000);
    struct address *const address =
        &test_cluster.test_nodes[0].roster->members[1].address;
    char expected[LIMIT_ADDRESS + 128];
    char at[LIMIT_ADDRESS];
    char text[4096] = "";
    int full_fd = -1;
    int queued[2];

    /* No room is left in its queue: what comes is dropped. */
    assert_ok(address_parse("127.0.0.1:0", address));
    assert_ok(socket_listen(address, 0, &full_fd));
    assert_ok(socket_local_address(full_fd, address));
    for (int i = 0; i < 2; i++)
        assert_ok(socket_connect(address, &queued[i]));
    test_cluster.test_nodes[0].config.wait_notice_ms = 50;
    test_cluster_start(&test_cluster);
    connector_dial(test_cluster.test_nodes[0].connector, 1);
    address_format(address, at);
    snprintf(expected, sizeof(expected),
             " wait: connecting to rank 1 at %s: nothing answers; a firewall? "
             "(since ",
             at);
    do {
        nanosleep(&moment, NULL);
        assert_true(pread(log_fd, text, sizeof(text) - 1, 0) >= 0);
    } while (!strstr(text, "hoop allows 10 s)\n") &&
             !clock_is_past(deadline_ns));
    assert_logged(expected);
    assert_int_equal(test_cluster.test_nodes[0].n_unreachable[1], 0);
    for (int i = 0; i < 2; i++)
        socket_close(queued[i]);
    socket_close(full_fd);
}

static void
wrong_token_is_refused_and_logged(void **state)
{
    test_cluster.test_nodes[0].config.token[0] = 'S';
    test_cluster_start(&test_cluster);
    connector_dial(test_cluster.test_nodes[0].connector, 1);
    test_cluster_await(&test_cluster,
                       &test_cluster.test_nodes[0].n_unreachable[1], 1);
    assert_int_equal(test_cluster.test_nodes[1].n_connected[0], 0);
    assert_true(strlen(test_cluster.test_nodes[0].why) > 0);
    assert_logged("refused a connection from 127.0.0.1:");
    assert_logged("does not know the job's token");
    test_cluster_connect(&test_cluster, 2, 1);
}

static void
another_epoch_is_refused_on_both_sides(void **state)
{
    test_cluster.test_nodes[0].roster->epoch = 8;
    test_cluster_start(&test_cluster);
    connector_dial(test_cluster.test_nodes[0].connector, 1);
    test_cluster_await(&test_cluster,
                       &test_cluster.test_nodes[0].n_unreachable[1], 1);
    assert_non_null(strstr(test_cluster.test_nodes[0].why, "epoch 7"));
    assert_logged("epoch 8");
    assert_int_equal(test_cluster.test_nodes[1].n_connected[0], 0);
    test_cluster_connect(&test_cluster, 1, 2);
}

static void
http_request_is_named_in_the_log(void **state)
{
    test_cluster_start(&test_cluster);
    stranger_await_end(
        stranger_open(&test_cluster, 1, "GET / HTTP/1.0\r\n\r\n", 18));
    test_cluster_connect(&test_cluster, 0, 1);
    assert_logged("refused a connection from 127.0.0.1:");
    assert_logged("no HOOPHELO of a hoop peer");
}

static size_t
log_size(void)
{
    return (size_t)lseek(log_fd, 0, SEEK_END);
}

/* Not one descriptor is left to accept with, and the one in reserve is held by
 * somebody who says nothing. */
static void
want_of_descriptors_is_survived_in_peace(void **state)
{
    const struct timespec moment = {.tv_nsec = 5000000};
    struct hoard hoard;
    int fds[3];

    test_cluster_start(&test_cluster);
    const struct address *address =
        &test_cluster.test_nodes[0].roster->members[1].address;
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        fds[i] = socket(address->storage.ss_family, SOCK_STREAM, 0);
    hoard_take(&hoard, 0);
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        assert_int_equal(connect(fds[i],
                                 (const struct sockaddr *)&address->storage,
                                 address->n_bytes),
                         0);
    for (int i = 0; i < 2000 && log_size() == 0; i++)
        nanosleep(&moment, NULL);
    /* Long enough for a flood, and for the next try. */
    for (int i = 0; i < 30; i++)
        nanosleep(&moment, NULL);
    assert_logged("RLIMIT_NOFILE");
    assert_true(log_size() < 2000);
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        close(fds[i]);
    hoard_give(&hoard);
    test_cluster_connect(&test_cluster, 0, 1);
}

static void
two_of_a_node_share_memory_if_both_want(void **state)
{
    test_cluster_open(&test_cluster);
    test_cluster.test_nodes[2].config.shm_negotiation = SHM_MODE_NEVER;
    test_cluster_start(&test_cluster);
    test_cluster_connect(&test_cluster, 0, 1);
    test_cluster_connect(&test_cluster, 2, 1);
    pthread_mutex_lock(&test_cluster.lock);
    assert_non_null(test_cluster.test_nodes[0].segments[1]);
    assert_non_null(test_cluster.test_nodes[1].segments[0]);
    assert_null(test_cluster.test_nodes[2].segments[1]);
    assert_null(test_cluster.test_nodes[1].segments[2]);
    pthread_mutex_unlock(&test_cluster.lock);
    test_cluster_close(&test_cluster);
}

/* Whoever of the two insists, and whoever dials. */
static void
two_that_must_share_and_cannot_are_told_why(void **state)
{
    for (unsigned i = 0; i < 4; i++) {
        test_cluster_open(&test_cluster);
        for (unsigned k = 0; k < 2; k++)
            snprintf(test_cluster.test_nodes[k].roster->members[1].host_id,
                     LIMIT_NAME, "far");
        test_cluster.test_nodes[i % 2].config.shm_negotiation = SHM_MODE_ALWAYS;
        test_cluster_start(&test_cluster);
        connector_dial(test_cluster.test_nodes[i / 2].connector, 1 - i / 2);
        test_cluster_await(&test_cluster,
                           &test_cluster.test_nodes[0].n_unreachable[1], 1);
        test_cluster_await(&test_cluster,
                           &test_cluster.test_nodes[1].n_unreachable[0], 1);
        assert_non_null(strstr(test_cluster.test_nodes[0].why,
                               "ranks 0 and 1 share no memory: they "
                               "are on different nodes"));
        assert_non_null(
            strstr(test_cluster.test_nodes[1].why, "ranks 1 and 0"));
        test_cluster_close(&test_cluster);
    }
}

/* Leaks and descriptors are the sanitizer's to find. */
static void
destroy_closes_what_is_under_way(void **state)
{
    int fds[8];

    test_cluster_open(&test_cluster);
    test_cluster_start(&test_cluster);
    for (int i = 0; i < 8; i++)
        fds[i] = stranger_open(&test_cluster, 1, "HOOPHELO", 8);
    test_cluster_connect(&test_cluster, 0, 1);
    connector_dial(test_cluster.test_nodes[0].connector, 2);
    connector_dial(test_cluster.test_nodes[2].connector, 1);
    test_cluster_close(&test_cluster);
    for (int i = 0; i < 8; i++)
        stranger_await_end(fds[i]);
    connector_destroy(NULL);
}

#define TEST_CLUSTER_TEST(name)                                                \
    cmocka_unit_test_setup_teardown(name, test_cluster_set_up,                 \
                                    test_cluster_tear_down)
#define CROWD_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, crowd_set_up, test_cluster_tear_down)
#define TEST_CLUSTER_TEST_LOGGED(name)                                         \
    cmocka_unit_test_setup_teardown(name, log_capture, log_release)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_CLUSTER_TEST(dial_connects_both_sides_once),
        cmocka_unit_test(two_that_dial_each_other_have_one_connection),
        TEST_CLUSTER_TEST(strangers_are_closed_without_an_answer),
        TEST_CLUSTER_TEST(silence_and_half_a_hello_disturb_nobody),
        TEST_CLUSTER_TEST(hello_of_nobody_learns_the_version_and_is_closed),
        TEST_CLUSTER_TEST(five_hundred_that_come_and_go_disturb_nobody),
        CROWD_TEST(strangers_make_room_for_strangers_and_for_a_peer),
        CROWD_TEST(who_is_about_to_prove_itself_is_never_displaced),
        cmocka_unit_test(dial_that_is_closed_in_the_handshake_is_tried_again),
        TEST_CLUSTER_TEST(
            dial_without_a_descriptor_names_the_limit_and_blames_nobody),
        TEST_CLUSTER_TEST(acceptor_without_a_descriptor_tells_who_dials_it),
        cmocka_unit_test(refused_dial_is_unreachable_with_a_reason),
        TEST_CLUSTER_TEST_LOGGED(
            dial_that_nothing_answers_is_told_while_it_lasts),
        TEST_CLUSTER_TEST_LOGGED(wrong_token_is_refused_and_logged),
        TEST_CLUSTER_TEST_LOGGED(another_epoch_is_refused_on_both_sides),
        TEST_CLUSTER_TEST_LOGGED(http_request_is_named_in_the_log),
        TEST_CLUSTER_TEST_LOGGED(want_of_descriptors_is_survived_in_peace),
        cmocka_unit_test(two_of_a_node_share_memory_if_both_want),
        cmocka_unit_test(two_that_must_share_and_cannot_are_told_why),
        cmocka_unit_test(destroy_closes_what_is_under_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
