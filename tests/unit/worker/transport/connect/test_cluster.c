/* tests/unit/worker/transport/connect/test_cluster.c - connectors of three
 * ranks on one loop */

#include "test_cluster.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "default_config.h"
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
    struct test_node *test_node = owner;

    pthread_mutex_lock(&test_node->test_cluster->lock);
    if (test_node->n_connected[rank]++ == 0) {
        test_node->fds[rank] = fd;
        test_node->segments[rank] = segment;
    } else {
        close(fd);
        segment_destroy(segment);
    }
    pthread_cond_broadcast(&test_node->test_cluster->changed);
    pthread_mutex_unlock(&test_node->test_cluster->lock);
}

static void
on_stream(void *owner, uint32_t rank, unsigned stream, int fd)
{
    struct test_node *test_node = owner;

    pthread_mutex_lock(&test_node->test_cluster->lock);
    test_node->n_streams[rank] += stream;
    pthread_cond_broadcast(&test_node->test_cluster->changed);
    pthread_mutex_unlock(&test_node->test_cluster->lock);
    close(fd);
}

static void
on_encrypted(void *owner,
             uint32_t rank,
             unsigned stream,
             int fd,
             struct tls *tls)
{
    struct test_node *test_node = owner;

    if (stream > 0) {
        tls_destroy(tls);
        on_stream(owner, rank, stream, fd);
        return;
    }
    pthread_mutex_lock(&test_node->test_cluster->lock);
    assert_null(test_node->tls_of[rank]);
    test_node->tls_of[rank] = tls;
    pthread_mutex_unlock(&test_node->test_cluster->lock);
    on_connected(owner, rank, fd, NULL);
}

static void
on_unreachable(void *owner, uint32_t rank, const char *why)
{
    struct test_node *test_node = owner;

    pthread_mutex_lock(&test_node->test_cluster->lock);
    test_node->n_unreachable[rank]++;
    snprintf(test_node->why, sizeof(test_node->why), "%s", why);
    pthread_cond_broadcast(&test_node->test_cluster->changed);
    pthread_mutex_unlock(&test_node->test_cluster->lock);
}

static void
on_shortage(void *owner, const struct connector_shortage *shortage)
{
    struct test_node *test_node = owner;

    pthread_mutex_lock(&test_node->test_cluster->lock);
    test_node->n_short[shortage->rank]++;
    test_node->short_of = shortage->of;
    test_node->short_status = shortage->status;
    snprintf(test_node->why, sizeof(test_node->why), "%s", shortage->why);
    pthread_cond_broadcast(&test_node->test_cluster->changed);
    pthread_mutex_unlock(&test_node->test_cluster->lock);
}

static void
test_node_open(struct test_node *test_node, struct address *out_address)
{
    assert_ok(address_parse("127.0.0.1:0", out_address));
    assert_ok(socket_listen(out_address, BACKLOG, &test_node->listen_fd));
    assert_ok(socket_local_address(test_node->listen_fd, out_address));
}

void
test_cluster_open(struct test_cluster *test_cluster)
{
    struct address addresses[TEST_CLUSTER_RANKS];

    memset(test_cluster, 0, sizeof(*test_cluster));
    pthread_mutex_init(&test_cluster->lock, NULL);
    pthread_cond_init(&test_cluster->changed, NULL);
    assert_ok(loop_create(&test_cluster->loop));
    for (uint32_t i = 0; i < TEST_CLUSTER_RANKS; i++)
        test_node_open(&test_cluster->test_nodes[i], &addresses[i]);
    for (uint32_t i = 0; i < TEST_CLUSTER_RANKS; i++) {
        struct test_node *test_node = &test_cluster->test_nodes[i];

        test_node->test_cluster = test_cluster;
        default_config_init(&test_node->config);
        snprintf(test_node->config.token, sizeof(test_node->config.token),
                 "secret");
        assert_ok(roster_create(TEST_CLUSTER_RANKS, &test_node->roster));
        test_node->roster->rank = i;
        test_node->roster->epoch = 7;
        for (uint32_t k = 0; k < TEST_CLUSTER_RANKS; k++) {
            test_node->fds[k] = -1;
            test_node->roster->members[k].incarnation = 100 + k;
            test_node->roster->members[k].address = addresses[k];
        }
    }
}

static void *
test_cluster_run(void *owner)
{
    loop_run(owner);
    return NULL;
}

void
test_cluster_start(struct test_cluster *test_cluster)
{
    for (uint32_t i = 0; i < TEST_CLUSTER_RANKS; i++) {
        struct test_node *test_node = &test_cluster->test_nodes[i];
        const struct connector_options options = {
            .loop = test_cluster->loop,
            .roster = test_node->roster,
            .config = &test_node->config,
            .listen_fd = test_node->listen_fd,
            .forming_until_ns = test_node->forming_until_ns,
            .on_connected = on_connected,
            .on_unreachable = on_unreachable,
            .on_shortage = on_shortage,
            .on_stream = test_node->refuses_streams ? NULL : on_stream,
            .on_encrypted = on_encrypted,
            .owner = test_node,
        };

        assert_ok(connector_create(&options, &test_node->connector));
    }
    assert_int_equal(pthread_create(&test_cluster->thread, NULL,
                                    test_cluster_run, test_cluster->loop),
                     0);
}

void
test_cluster_close(struct test_cluster *test_cluster)
{
    loop_stop(test_cluster->loop);
    pthread_join(test_cluster->thread, NULL);
    for (uint32_t i = 0; i < TEST_CLUSTER_RANKS; i++) {
        struct test_node *test_node = &test_cluster->test_nodes[i];

        connector_destroy(test_node->connector);
        roster_destroy(test_node->roster);
        socket_close(test_node->listen_fd);
        for (uint32_t k = 0; k < TEST_CLUSTER_RANKS; k++) {
            tls_destroy(test_node->tls_of[k]);
            socket_close(test_node->fds[k]);
            segment_destroy(test_node->segments[k]);
        }
    }
    loop_destroy(test_cluster->loop);
    pthread_cond_destroy(&test_cluster->changed);
    pthread_mutex_destroy(&test_cluster->lock);
}

void
test_cluster_await(struct test_cluster *test_cluster,
                   const unsigned *counter,
                   unsigned value)
{
    struct timespec until;
    int result = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    pthread_mutex_lock(&test_cluster->lock);
    while (*counter < value && result == 0)
        result = pthread_cond_timedwait(&test_cluster->changed,
                                        &test_cluster->lock, &until);
    const unsigned now = *counter;
    pthread_mutex_unlock(&test_cluster->lock);
    assert_int_equal(now, value);
}

static ssize_t
end_send(struct test_node *test_node,
         uint32_t rank,
         const char *text,
         size_t n_bytes)
{
    const struct iovec span = {(void *)(uintptr_t)text, n_bytes};

    return test_node->tls_of[rank]
               ? tls_send(test_node->tls_of[rank], &span, 1)
               : send(test_node->fds[rank], text, n_bytes, MSG_NOSIGNAL);
}

static ssize_t
end_receive(struct test_node *test_node,
            uint32_t rank,
            char *text,
            size_t n_bytes)
{
    const struct iovec room = {text, n_bytes};

    return test_node->tls_of[rank]
               ? tls_receive(test_node->tls_of[rank], &room, 1)
               : recv(test_node->fds[rank], text, n_bytes, 0);
}

static void
fd_await(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    assert_int_equal(poll(&poll_fd, 1, PATIENCE_MS), 1);
}

void
test_cluster_check_ends(struct test_cluster *test_cluster,
                        uint32_t one,
                        uint32_t other)
{
    struct test_node *test_nodes[2] = {&test_cluster->test_nodes[one],
                                       &test_cluster->test_nodes[other]};
    const uint32_t ranks[2] = {other, one};

    for (int i = 0; i < 2; i++) {
        char text[8] = "";
        const int k = 1 - i;

        assert_int_equal(end_send(test_nodes[i], ranks[i], "ping", 4), 4);
        fd_await(test_nodes[k]->fds[ranks[k]]);
        assert_int_equal(
            end_receive(test_nodes[k], ranks[k], text, sizeof(text)), 4);
        assert_string_equal(text, "ping");
    }
}

void
test_cluster_connect(struct test_cluster *test_cluster,
                     uint32_t from,
                     uint32_t to)
{
    connector_dial(test_cluster->test_nodes[from].connector, to);
    test_cluster_await(test_cluster,
                       &test_cluster->test_nodes[from].n_connected[to], 1);
    test_cluster_await(test_cluster,
                       &test_cluster->test_nodes[to].n_connected[from], 1);
    test_cluster_check_ends(test_cluster, from, to);
}

int
stranger_open(const struct test_cluster *test_cluster,
              uint32_t rank,
              const void *bytes,
              size_t n_bytes)
{
    const struct address *address =
        &test_cluster->test_nodes[0].roster->members[rank].address;
    struct pollfd poll_fd = {.events = POLLOUT};

    assert_ok(socket_connect(address, &poll_fd.fd));
    assert_int_equal(poll(&poll_fd, 1, PATIENCE_MS), 1);
    assert_ok(socket_connect_result(poll_fd.fd));
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
