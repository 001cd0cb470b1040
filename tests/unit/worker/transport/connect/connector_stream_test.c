/* tests/unit/worker/transport/connect/connector_stream_test.c - connections
 * beside the first, of transport/connect/connector_accept.c */

#include <poll.h>
#include <sys/socket.h>

#include "check.h"
#include "net/socket.h"
#include "test_cluster.h"
#include "transport/connect/handshake.h"

static struct test_cluster test_cluster;

static void
streams_are_dialed_beside_the_first(void **state)
{
    test_cluster_open(&test_cluster);
    test_cluster_start(&test_cluster);
    test_cluster_connect(&test_cluster, 1, 0);
    for (unsigned i = 1; i <= 4; i++)
        connector_dial_stream(test_cluster.test_nodes[0].connector, 1, i);
    test_cluster_await(&test_cluster, &test_cluster.test_nodes[0].n_streams[1],
                       1 + 2 + 3 + 4);
    test_cluster_await(&test_cluster, &test_cluster.test_nodes[1].n_streams[0],
                       1 + 2 + 3 + 4);
    /* There is one of each. */
    connector_dial_stream(test_cluster.test_nodes[0].connector, 1, 2);
    connector_dial_stream(test_cluster.test_nodes[0].connector, 1, 8);
    test_cluster_await(&test_cluster, &test_cluster.test_nodes[1].n_streams[0],
                       10 + 8);
    assert_int_equal(test_cluster.test_nodes[0].n_connected[1], 1);
    assert_int_equal(test_cluster.test_nodes[1].n_connected[0], 1);
    test_cluster_close(&test_cluster);
}

static void
streams_are_refused_by_who_wants_none_and_from_above(void **state)
{
    test_cluster_open(&test_cluster);
    test_cluster.test_nodes[2].refuses_streams = true;
    test_cluster_start(&test_cluster);
    test_cluster_connect(&test_cluster, 0, 2);
    test_cluster_connect(&test_cluster, 0, 1);
    connector_dial_stream(test_cluster.test_nodes[0].connector, 2, 1);
    connector_dial_stream(test_cluster.test_nodes[1].connector, 0, 1);
    connector_dial_stream(test_cluster.test_nodes[0].connector, 1, 3);
    test_cluster_await(&test_cluster, &test_cluster.test_nodes[1].n_streams[0],
                       3);
    assert_int_equal(test_cluster.test_nodes[2].n_streams[0], 0);
    test_cluster_await(&test_cluster, &test_cluster.test_nodes[0].n_streams[1],
                       3);
    test_cluster_close(&test_cluster);
}

/* The next connection to listener. */
static int
next_accept(int listener)
{
    struct pollfd comes = {.fd = listener, .events = POLLIN};
    struct address from;
    int fd = -1;

    assert_int_equal(poll(&comes, 1, 20000), 1);
    assert_ok(socket_accept(listener, &fd, &from));
    return fd;
}

/* Where rank 0 dials its streams to rank 1, the first try comes to nothing. */
static void
stream_that_could_not_be_had_is_dialed_again(void **state)
{
    enum {
        HANDSHAKE_STREAM_OFFSET = 66
    };
    struct pollfd comes = {.events = POLLIN};
    uint8_t hello[HANDSHAKE_MESSAGE_BYTES] = {0};
    struct address address;
    int listener = -1;

    assert_ok(address_parse("127.0.0.1:0", &address));
    assert_ok(socket_listen(&address, 1, &listener));
    assert_ok(socket_local_address(listener, &address));
    test_cluster_open(&test_cluster);
    test_cluster.test_nodes[0].roster->members[1].address = address;
    test_cluster_start(&test_cluster);
    test_cluster_connect(&test_cluster, 1, 0);
    connector_dial_stream(test_cluster.test_nodes[0].connector, 1, 2);
    socket_close(next_accept(listener));
    comes.fd = next_accept(listener);
    assert_int_equal(poll(&comes, 1, 20000), 1);
    assert_int_equal(recv(comes.fd, hello, sizeof(hello), 0), sizeof(hello));
    assert_int_equal(hello[HANDSHAKE_STREAM_OFFSET], 2);
    socket_close(comes.fd);
    socket_close(listener);
    test_cluster_close(&test_cluster);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_dialed_beside_the_first),
        cmocka_unit_test(streams_are_refused_by_who_wants_none_and_from_above),
        cmocka_unit_test(stream_that_could_not_be_had_is_dialed_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
