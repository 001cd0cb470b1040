/* tests/unit/worker/transport/hall.c - connectors of three ranks on one loop */

#include "hall.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "net/socket.h"

enum {
    PATIENCE_MS = 20000,
};

static void
on_connected(void *owner, uint32_t rank, int fd, struct segment *segment)
{
    struct booth *booth = owner;

    pthread_mutex_lock(&booth->hall->lock);
    if (booth->n_connected[rank]++ == 0) {
        booth->fds[rank] = fd;
        booth->segments[rank] = segment;
    } else {
        close(fd);
        segment_destroy(segment);
    }
    pthread_cond_broadcast(&booth->hall->changed);
    pthread_mutex_unlock(&booth->hall->lock);
}

static void
on_unreachable(void *owner, uint32_t rank, const char *why)
{
    struct booth *booth = owner;

    pthread_mutex_lock(&booth->hall->lock);
    booth->n_unreachable[rank]++;
    snprintf(booth->why, sizeof(booth->why), "%s", why);
    pthread_cond_broadcast(&booth->hall->changed);
    pthread_mutex_unlock(&booth->hall->lock);
}

static void
booth_open(struct booth *booth, struct address *out_address)
{
    assert_int_equal(address_parse("127.0.0.1:0", out_address), HOOP_OK);
    assert_int_equal(socket_listen(out_address, 128, &booth->listen_fd),
                     HOOP_OK);
    assert_int_equal(socket_local_address(booth->listen_fd, out_address),
                     HOOP_OK);
}

void
hall_open(struct hall *hall)
{
    struct address addresses[HALL_RANKS];

    memset(hall, 0, sizeof(*hall));
    pthread_mutex_init(&hall->lock, NULL);
    pthread_cond_init(&hall->changed, NULL);
    assert_int_equal(loop_create(&hall->loop), HOOP_OK);
    for (uint32_t i = 0; i < HALL_RANKS; i++)
        booth_open(&hall->booths[i], &addresses[i]);
    for (uint32_t i = 0; i < HALL_RANKS; i++) {
        struct booth *booth = &hall->booths[i];

        booth->hall = hall;
        booth->token = "secret";
        assert_int_equal(roster_create(HALL_RANKS, &booth->roster), HOOP_OK);
        booth->roster->rank = i;
        booth->roster->epoch = 7;
        for (uint32_t k = 0; k < HALL_RANKS; k++) {
            booth->fds[k] = -1;
            booth->roster->members[k].incarnation = 100 + k;
            booth->roster->members[k].address = addresses[k];
        }
    }
}

static void *
hall_run(void *owner)
{
    loop_run(owner);
    return NULL;
}

void
hall_start(struct hall *hall)
{
    for (uint32_t i = 0; i < HALL_RANKS; i++) {
        struct booth *booth = &hall->booths[i];
        const struct connector_options options = {
            .loop = hall->loop,
            .roster = booth->roster,
            .token = booth->token,
            .listen_fd = booth->listen_fd,
            .sharing = booth->sharing,
            .on_connected = on_connected,
            .on_unreachable = on_unreachable,
            .owner = booth,
        };

        assert_int_equal(connector_create(&options, &booth->connector),
                         HOOP_OK);
    }
    assert_int_equal(pthread_create(&hall->thread, NULL, hall_run, hall->loop),
                     0);
}

void
hall_close(struct hall *hall)
{
    loop_stop(hall->loop);
    pthread_join(hall->thread, NULL);
    for (uint32_t i = 0; i < HALL_RANKS; i++) {
        struct booth *booth = &hall->booths[i];

        connector_destroy(booth->connector);
        roster_destroy(booth->roster);
        socket_close(booth->listen_fd);
        for (uint32_t k = 0; k < HALL_RANKS; k++) {
            socket_close(booth->fds[k]);
            segment_destroy(booth->segments[k]);
        }
    }
    loop_destroy(hall->loop);
    pthread_cond_destroy(&hall->changed);
    pthread_mutex_destroy(&hall->lock);
}

void
hall_await(struct hall *hall, const unsigned *counter, unsigned value)
{
    struct timespec until;
    int result = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    pthread_mutex_lock(&hall->lock);
    while (*counter < value && result == 0)
        result = pthread_cond_timedwait(&hall->changed, &hall->lock, &until);
    const unsigned now = *counter;
    pthread_mutex_unlock(&hall->lock);
    assert_int_equal(now, value);
}

static void
fd_await(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    assert_int_equal(poll(&poll_fd, 1, PATIENCE_MS), 1);
}

void
hall_check_ends(struct hall *hall, uint32_t one, uint32_t other)
{
    const int fds[2] = {hall->booths[one].fds[other],
                        hall->booths[other].fds[one]};

    for (int i = 0; i < 2; i++) {
        char text[8] = "";

        assert_int_equal(send(fds[i], "ping", 4, MSG_NOSIGNAL), 4);
        fd_await(fds[1 - i]);
        assert_int_equal(recv(fds[1 - i], text, sizeof(text), 0), 4);
        assert_string_equal(text, "ping");
    }
}

void
hall_connect(struct hall *hall, uint32_t from, uint32_t to)
{
    connector_dial(hall->booths[from].connector, to);
    hall_await(hall, &hall->booths[from].n_connected[to], 1);
    hall_await(hall, &hall->booths[to].n_connected[from], 1);
    hall_check_ends(hall, from, to);
}

int
stranger_open(const struct hall *hall,
              uint32_t rank,
              const void *bytes,
              size_t n_bytes)
{
    const struct address *address =
        &hall->booths[0].roster->members[rank].address;
    struct pollfd poll_fd = {.events = POLLOUT};

    assert_int_equal(socket_connect(address, &poll_fd.fd), HOOP_OK);
    assert_int_equal(poll(&poll_fd, 1, PATIENCE_MS), 1);
    assert_int_equal(socket_connected(poll_fd.fd), HOOP_OK);
    if (n_bytes)
        assert_int_equal(send(poll_fd.fd, bytes, n_bytes, MSG_NOSIGNAL),
                         n_bytes);
    return poll_fd.fd;
}

void
stranger_await_end(int fd)
{
    char answer[256];

    fd_await(fd);
    /* An end or a reset, and never a word. */
    assert_true(recv(fd, answer, sizeof(answer), 0) <= 0);
    close(fd);
}
