/* tests/unit/worker/transport/foyer.c - connectors of three ranks on one loop */

#include "foyer.h"

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
    /* Room for a crowd that connects faster than it is accepted: who finds none
     * tries again after a second. */
    BACKLOG = 4096,
};

static void
on_connected(void *owner, uint32_t rank, int fd, struct segment *segment)
{
    struct booth *booth = owner;

    pthread_mutex_lock(&booth->foyer->lock);
    if (booth->n_connected[rank]++ == 0) {
        booth->fds[rank] = fd;
        booth->segments[rank] = segment;
    } else {
        close(fd);
        segment_destroy(segment);
    }
    pthread_cond_broadcast(&booth->foyer->changed);
    pthread_mutex_unlock(&booth->foyer->lock);
}

static void
on_stream(void *owner, uint32_t rank, unsigned stream, int fd)
{
    struct booth *booth = owner;

    pthread_mutex_lock(&booth->foyer->lock);
    booth->n_streams[rank] += stream;
    pthread_cond_broadcast(&booth->foyer->changed);
    pthread_mutex_unlock(&booth->foyer->lock);
    close(fd);
}

static void
on_encrypted(void *owner,
             uint32_t rank,
             unsigned stream,
             int fd,
             struct tls *tls)
{
    struct booth *booth = owner;

    if (stream > 0) {
        tls_destroy(tls);
        on_stream(owner, rank, stream, fd);
        return;
    }
    pthread_mutex_lock(&booth->foyer->lock);
    assert_null(booth->tls_of[rank]);
    booth->tls_of[rank] = tls;
    pthread_mutex_unlock(&booth->foyer->lock);
    on_connected(owner, rank, fd, NULL);
}

static void
on_unreachable(void *owner, uint32_t rank, const char *why)
{
    struct booth *booth = owner;

    pthread_mutex_lock(&booth->foyer->lock);
    booth->n_unreachable[rank]++;
    snprintf(booth->why, sizeof(booth->why), "%s", why);
    pthread_cond_broadcast(&booth->foyer->changed);
    pthread_mutex_unlock(&booth->foyer->lock);
}

static void
on_shortage(void *owner, const struct connector_shortage *shortage)
{
    struct booth *booth = owner;

    pthread_mutex_lock(&booth->foyer->lock);
    booth->n_short[shortage->rank]++;
    booth->short_of = shortage->of;
    booth->short_status = shortage->status;
    snprintf(booth->why, sizeof(booth->why), "%s", shortage->why);
    pthread_cond_broadcast(&booth->foyer->changed);
    pthread_mutex_unlock(&booth->foyer->lock);
}

static void
booth_open(struct booth *booth, struct address *out_address)
{
    assert_int_equal(address_parse("127.0.0.1:0", out_address), HOOP_OK);
    assert_int_equal(socket_listen(out_address, BACKLOG, &booth->listen_fd),
                     HOOP_OK);
    assert_int_equal(socket_local_address(booth->listen_fd, out_address),
                     HOOP_OK);
}

void
foyer_open(struct foyer *foyer)
{
    struct address addresses[FOYER_RANKS];

    memset(foyer, 0, sizeof(*foyer));
    pthread_mutex_init(&foyer->lock, NULL);
    pthread_cond_init(&foyer->changed, NULL);
    assert_int_equal(loop_create(&foyer->loop), HOOP_OK);
    for (uint32_t i = 0; i < FOYER_RANKS; i++)
        booth_open(&foyer->booths[i], &addresses[i]);
    for (uint32_t i = 0; i < FOYER_RANKS; i++) {
        struct booth *booth = &foyer->booths[i];

        booth->foyer = foyer;
        booth->token = "secret";
        assert_int_equal(roster_create(FOYER_RANKS, &booth->roster), HOOP_OK);
        booth->roster->rank = i;
        booth->roster->epoch = 7;
        for (uint32_t k = 0; k < FOYER_RANKS; k++) {
            booth->fds[k] = -1;
            booth->roster->members[k].incarnation = 100 + k;
            booth->roster->members[k].address = addresses[k];
        }
    }
}

static void *
foyer_run(void *owner)
{
    loop_run(owner);
    return NULL;
}

void
foyer_start(struct foyer *foyer)
{
    for (uint32_t i = 0; i < FOYER_RANKS; i++) {
        struct booth *booth = &foyer->booths[i];
        const struct connector_options options = {
            .loop = foyer->loop,
            .roster = booth->roster,
            .token = booth->token,
            .listen_fd = booth->listen_fd,
            .sharing = booth->sharing,
            .forming_until_ns = booth->forming_until_ns,
            .wait_notice_ms = booth->wait_notice_ms,
            .tls = booth->tls,
            .on_connected = on_connected,
            .on_unreachable = on_unreachable,
            .on_shortage = on_shortage,
            .on_stream = booth->refuses_streams ? NULL : on_stream,
            .on_encrypted = on_encrypted,
            .owner = booth,
        };

        assert_int_equal(connector_create(&options, &booth->connector),
                         HOOP_OK);
    }
    assert_int_equal(
        pthread_create(&foyer->thread, NULL, foyer_run, foyer->loop), 0);
}

void
foyer_close(struct foyer *foyer)
{
    loop_stop(foyer->loop);
    pthread_join(foyer->thread, NULL);
    for (uint32_t i = 0; i < FOYER_RANKS; i++) {
        struct booth *booth = &foyer->booths[i];

        connector_destroy(booth->connector);
        roster_destroy(booth->roster);
        socket_close(booth->listen_fd);
        for (uint32_t k = 0; k < FOYER_RANKS; k++) {
            tls_destroy(booth->tls_of[k]);
            socket_close(booth->fds[k]);
            segment_destroy(booth->segments[k]);
        }
    }
    loop_destroy(foyer->loop);
    pthread_cond_destroy(&foyer->changed);
    pthread_mutex_destroy(&foyer->lock);
}

void
foyer_await(struct foyer *foyer, const unsigned *counter, unsigned value)
{
    struct timespec until;
    int result = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    pthread_mutex_lock(&foyer->lock);
    while (*counter < value && result == 0)
        result = pthread_cond_timedwait(&foyer->changed, &foyer->lock, &until);
    const unsigned now = *counter;
    pthread_mutex_unlock(&foyer->lock);
    assert_int_equal(now, value);
}

static ssize_t
end_send(struct booth *booth, uint32_t rank, const char *text, size_t n_bytes)
{
    const struct iovec span = {(void *)(uintptr_t)text, n_bytes};

    return booth->tls_of[rank]
               ? tls_send(booth->tls_of[rank], &span, 1)
               : send(booth->fds[rank], text, n_bytes, MSG_NOSIGNAL);
}

static ssize_t
end_receive(struct booth *booth, uint32_t rank, char *text, size_t n_bytes)
{
    const struct iovec room = {text, n_bytes};

    return booth->tls_of[rank] ? tls_receive(booth->tls_of[rank], &room, 1)
                               : recv(booth->fds[rank], text, n_bytes, 0);
}

static void
fd_await(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    assert_int_equal(poll(&poll_fd, 1, PATIENCE_MS), 1);
}

void
foyer_check_ends(struct foyer *foyer, uint32_t one, uint32_t other)
{
    struct booth *booths[2] = {&foyer->booths[one], &foyer->booths[other]};
    const uint32_t ranks[2] = {other, one};

    for (int i = 0; i < 2; i++) {
        char text[8] = "";
        const int k = 1 - i;

        assert_int_equal(end_send(booths[i], ranks[i], "ping", 4), 4);
        fd_await(booths[k]->fds[ranks[k]]);
        assert_int_equal(end_receive(booths[k], ranks[k], text, sizeof(text)),
                         4);
        assert_string_equal(text, "ping");
    }
}

void
foyer_connect(struct foyer *foyer, uint32_t from, uint32_t to)
{
    connector_dial(foyer->booths[from].connector, to);
    foyer_await(foyer, &foyer->booths[from].n_connected[to], 1);
    foyer_await(foyer, &foyer->booths[to].n_connected[from], 1);
    foyer_check_ends(foyer, from, to);
}

int
stranger_open(const struct foyer *foyer,
              uint32_t rank,
              const void *bytes,
              size_t n_bytes)
{
    const struct address *address =
        &foyer->booths[0].roster->members[rank].address;
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
