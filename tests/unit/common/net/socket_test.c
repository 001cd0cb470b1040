/* tests/unit/common/net/socket_test.c - net/socket.c, on real sockets */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "net/socket.h"

struct pair {
    int listener;
    int client;
    int server;
    struct address address; /* of the listener */
    struct address peer;    /* the client, as accept saw it */
};

static void
wait_for(int fd, short events)
{
    struct pollfd at = {.fd = fd, .events = events};

    assert_int_equal(poll(&at, 1, 5000), 1);
}

static int
listener_open(const char *text, struct address *out_address)
{
    struct address address;
    int fd = -1;

    assert_ok(address_parse(text, &address));
    assert_ok(socket_listen(&address, 16, &fd));
    assert_ok(socket_local_address(fd, out_address));
    assert_int_not_equal(address_port(out_address), 0);
    return fd;
}

static void
pair_open(struct pair *pair, const char *listen_text, const char *connect_text)
{
    struct address to;

    pair->listener = listener_open(listen_text, &pair->address);
    assert_ok(address_parse(connect_text, &to));
    address_set_port(&to, address_port(&pair->address));
    assert_ok(socket_connect(&to, &pair->client));

    wait_for(pair->listener, POLLIN);
    assert_ok(socket_accept(pair->listener, &pair->server, &pair->peer));
    wait_for(pair->client, POLLOUT);
    assert_ok(socket_connect_result(pair->client));
}

static void
pair_close(struct pair *pair)
{
    socket_close(pair->client);
    socket_close(pair->server);
    socket_close(pair->listener);
}

static int
option_of(int fd, int level, int option)
{
    int value = -1;
    socklen_t n_bytes = sizeof(value);

    assert_int_equal(getsockopt(fd, level, option, &value, &n_bytes), 0);
    return value;
}

static void
assert_is_tuned(int fd)
{
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 1);
    assert_int_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
}

static void
socket_pair_is_tuned_and_knows_its_ends(void **state)
{
    struct pair pair;
    struct address local;
    struct address remote;
    char byte = 'x';

    pair_open(&pair, "127.0.0.1:0", "127.0.0.1:0");
    assert_is_tuned(pair.client);
    assert_is_tuned(pair.server);
    assert_true(fcntl(pair.listener, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(pair.listener, F_GETFD) & FD_CLOEXEC);

    assert_ok(socket_local_address(pair.client, &local));
    assert_int_equal(address_port(&local), address_port(&pair.peer));
    assert_ok(socket_peer_address(pair.client, &remote));
    assert_int_equal(address_port(&remote), address_port(&pair.address));

    assert_int_equal(send(pair.client, &byte, 1, MSG_NOSIGNAL), 1);
    wait_for(pair.server, POLLIN);
    assert_int_equal(recv(pair.server, &byte, 1, 0), 1);
    pair_close(&pair);
}

static void
socket_silence_is_since_the_last_byte(void **state)
{
    struct pair pair;
    uint64_t n_ms = 0;
    char byte = 0;
    int ends[2];

    pair_open(&pair, "127.0.0.1:0", "127.0.0.1:0");
    assert_int_equal(send(pair.client, "x", 1, MSG_NOSIGNAL), 1);
    wait_for(pair.server, POLLIN);
    usleep(50000);
    assert_true(socket_get_silent_ms(pair.server, &n_ms));
    assert_true(n_ms >= 40 && n_ms < 20000);
    assert_int_equal(socket_silent_ms_at_accept(pair.server), 0);
    assert_int_equal(recv(pair.server, &byte, 1, 0), 1);
    n_ms = socket_silent_ms_at_accept(pair.server);
    assert_true(n_ms >= 40 && n_ms < 20000);
    pair_close(&pair);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_false(socket_get_silent_ms(ends[0], &n_ms));
    close(ends[0]);
    close(ends[1]);
}

static void
socket_any_listener_serves_both_families(void **state)
{
    struct pair pair;
    struct address ipv4;

    pair_open(&pair, "*:0", "127.0.0.1:0");
    assert_ok(address_parse("127.0.0.1:0", &ipv4));
    assert_true(address_same_host(&pair.peer, &ipv4));
    pair_close(&pair);

    if (pair.address.storage.ss_family != AF_INET6)
        skip();
    pair_open(&pair, "*:0", "[::1]:0");
    pair_close(&pair);
    pair_open(&pair, "[::1]:0", "[::1]:0");
    pair_close(&pair);
}

static void
socket_listen_on_taken_port_is_unavailable(void **state)
{
    struct address address;
    int other = -1;
    char text[LIMIT_ADDRESS];

    const int fd = listener_open("127.0.0.1:0", &address);
    assert_int_equal(socket_listen(&address, 16, &other), HOOP_E_UNAVAILABLE);
    address_format(&address, text);
    assert_non_null(strstr(error_text(), text));
    assert_non_null(strstr(error_text(), strerror(EADDRINUSE)));
    assert_int_equal(other, -1);
    socket_close(fd);
}

static void
socket_accept_without_a_peer_is_pending(void **state)
{
    struct address address;
    struct address peer;
    int fd = -1;

    const int listener = listener_open("127.0.0.1:0", &address);
    assert_int_equal(socket_accept(listener, &fd, &peer), HOOP_E_PENDING);
    assert_int_equal(fd, -1);
    socket_close(listener);
}

static void
socket_accept_without_descriptors_is_exhausted(void **state)
{
    struct rlimit old;
    struct address address;
    struct address peer;
    int client;
    int fd = -1;

    const int listener = listener_open("127.0.0.1:0", &address);
    assert_ok(socket_connect(&address, &client));
    wait_for(listener, POLLIN);

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const enum hoop_status refused = socket_accept(listener, &fd, &peer);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);

    assert_int_equal(refused, HOOP_E_EXHAUSTED);
    assert_ok(socket_accept(listener, &fd, &peer));
    socket_close(fd);
    socket_close(client);
    socket_close(listener);
}

static void
socket_connect_to_nobody_is_unavailable(void **state)
{
    struct address address;
    int fd = -1;

    /* The port was ours a moment ago: nobody else listens there. */
    socket_close(listener_open("127.0.0.1:0", &address));

    enum hoop_status status = socket_connect(&address, &fd);
    if (status == HOOP_OK) {
        wait_for(fd, POLLOUT);
        status = socket_connect_result(fd);
        socket_close(fd);
    }
    assert_int_equal(status, HOOP_E_UNAVAILABLE);
    assert_non_null(strstr(error_text(), strerror(ECONNREFUSED)));
}

static void
socket_that_meets_itself_is_not_connected(void **state)
{
    struct address address;

    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_ok(address_parse("127.0.0.1:0", &address));
    assert_int_equal(
        bind(fd, (struct sockaddr *)&address.storage, address.n_bytes), 0);
    assert_ok(socket_local_address(fd, &address));
    assert_int_equal(
        connect(fd, (struct sockaddr *)&address.storage, address.n_bytes), 0);
    assert_int_equal(socket_connect_result(fd), HOOP_E_UNAVAILABLE);
    socket_close(fd);
}

static void
congestion_of(int fd, char name[16])
{
    socklen_t n_bytes = 15;

    memset(name, 0, 16);
    assert_int_equal(
        getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &n_bytes), 0);
}

/* What a socket gets that says nothing. */
static void
congestion_of_system(char name[16])
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    congestion_of(fd, name);
    close(fd);
}

/* Not every system has bbr. */
static void
assert_is_unpaced(int fd)
{
    char system[16];
    char here[16];

    congestion_of_system(system);
    congestion_of(fd, here);
    if (strncmp(system, "bbr", 3) == 0)
        assert_true(strcmp(here, "cubic") == 0 || strcmp(here, "reno") == 0);
    else
        assert_string_equal(here, system);
}

static void
socket_pair_inside_a_host_is_not_paced(void **state)
{
    struct pair pair;

    pair_open(&pair, "127.0.0.1:0", "127.0.0.1:0");
    assert_is_unpaced(pair.client);
    assert_is_unpaced(pair.server);
    pair_close(&pair);
}

/* Established without pacing, too: its listener and whoever dials have to say
 * so before. */
static void
socket_listener_is_not_paced(void **state)
{
    struct address address;

    const int listener = listener_open("127.0.0.1:0", &address);
    assert_is_unpaced(listener);
    socket_close(listener);
}

/* From 127.0.0.1 to 127.0.0.2. */
static void
socket_pair_of_two_hosts_has_the_systems_choice(void **state)
{
    struct pair pair;
    char system[16];
    char here[16];

    congestion_of_system(system);
    pair_open(&pair, "127.0.0.2:0", "127.0.0.2:0");
    assert_false(socket_is_local(pair.client));
    assert_false(socket_is_local(pair.server));
    congestion_of(pair.client, here);
    assert_string_equal(here, system);
    congestion_of(pair.server, here);
    assert_string_equal(here, system);
    pair_close(&pair);
}

/* Both sockets of localhost have the one port that the system chose. */
static void
socket_listen_all_serves_each_address_at_one_port(void **state)
{
    static const char *const texts[] = {"127.0.0.1:0", "[::1]:0"};
    struct socket_listeners listeners;

    assert_ok(socket_listen_all("localhost:0", 16, &listeners));
    assert_int_equal(listeners.n, COUNT_OF(texts));
    const uint16_t port = address_port(&listeners.addresses.items[0]);
    assert_int_not_equal(port, 0);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct address to;
        struct address peer;
        int client;
        int server;

        assert_ok(address_parse(texts[i], &to));
        address_set_port(&to, port);
        assert_ok(socket_connect(&to, &client));
        wait_for(listeners.fds[i], POLLIN);
        assert_ok(socket_accept(listeners.fds[i], &server, &peer));
        socket_close(client);
        socket_close(server);
    }
    socket_listeners_close(&listeners);
}

/* Of several that are wanted, one cannot be had: the others are closed. */
static void
socket_listen_all_or_none(void **state)
{
    struct socket_listeners listeners = {0};
    struct address taken;
    char both[2 * LIMIT_ADDRESS];
    char text[LIMIT_ADDRESS];
    int fd = -1;

    const int listener = listener_open("127.0.0.1:0", &taken);
    address_format(&taken, text);
    snprintf(both, sizeof(both), "127.0.0.2:%u,%s", address_port(&taken), text);
    assert_int_equal(socket_listen_all(both, 16, &listeners),
                     HOOP_E_UNAVAILABLE);
    assert_int_equal(listeners.n, 0);
    assert_ok(address_parse("127.0.0.2:0", &taken));
    address_set_port(&taken, (uint16_t)atoi(strrchr(text, ':') + 1));
    assert_ok(socket_listen(&taken, 16, &fd));
    socket_close(fd);
    socket_close(listener);
}

static void
socket_close_of_none_is_fine(void **state)
{
    socket_close(-1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(socket_pair_is_tuned_and_knows_its_ends),
        cmocka_unit_test(socket_silence_is_since_the_last_byte),
        cmocka_unit_test(socket_any_listener_serves_both_families),
        cmocka_unit_test(socket_listen_on_taken_port_is_unavailable),
        cmocka_unit_test(socket_accept_without_a_peer_is_pending),
        cmocka_unit_test(socket_accept_without_descriptors_is_exhausted),
        cmocka_unit_test(socket_connect_to_nobody_is_unavailable),
        cmocka_unit_test(socket_that_meets_itself_is_not_connected),
        cmocka_unit_test(socket_pair_inside_a_host_is_not_paced),
        cmocka_unit_test(socket_listener_is_not_paced),
        cmocka_unit_test(socket_pair_of_two_hosts_has_the_systems_choice),
        cmocka_unit_test(socket_listen_all_serves_each_address_at_one_port),
        cmocka_unit_test(socket_listen_all_or_none),
        cmocka_unit_test(socket_close_of_none_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
