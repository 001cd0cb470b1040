/* tests/unit/worker/transport/connector_stream_test.c - connections beside the
 * first, of transport/connector_stream.c */

#include <poll.h>
#include <sys/socket.h>

#include "check.h"
#include "foyer.h"
#include "net/socket.h"
#include "transport/handshake.h"

static struct foyer foyer;

static void
streams_are_dialed_beside_the_first(void **state)
{
    (void)state;
    foyer_open(&foyer);
    foyer_start(&foyer);
    foyer_connect(&foyer, 1, 0);
    for (unsigned i = 1; i <= 4; i++)
        connector_dial_stream(foyer.booths[0].connector, 1, i);
    foyer_await(&foyer, &foyer.booths[0].n_streams[1], 1 + 2 + 3 + 4);
    foyer_await(&foyer, &foyer.booths[1].n_streams[0], 1 + 2 + 3 + 4);
    /* There is one of each. */
    connector_dial_stream(foyer.booths[0].connector, 1, 2);
    connector_dial_stream(foyer.booths[0].connector, 1, 8);
    foyer_await(&foyer, &foyer.booths[1].n_streams[0], 10 + 8);
    assert_int_equal(foyer.booths[0].n_connected[1], 1);
    assert_int_equal(foyer.booths[1].n_connected[0], 1);
    foyer_close(&foyer);
}

static void
streams_are_refused_by_who_wants_none_and_from_above(void **state)
{
    (void)state;
    foyer_open(&foyer);
    foyer.booths[2].refuses_streams = true;
    foyer_start(&foyer);
    foyer_connect(&foyer, 0, 2);
    foyer_connect(&foyer, 0, 1);
    connector_dial_stream(foyer.booths[0].connector, 2, 1);
    connector_dial_stream(foyer.booths[1].connector, 0, 1);
    connector_dial_stream(foyer.booths[0].connector, 1, 3);
    foyer_await(&foyer, &foyer.booths[1].n_streams[0], 3);
    assert_int_equal(foyer.booths[2].n_streams[0], 0);
    foyer_await(&foyer, &foyer.booths[0].n_streams[1], 3);
    foyer_close(&foyer);
}

/* The next connection to listener. */
static int
next_accept(int listener)
{
    struct pollfd comes = {.fd = listener, .events = POLLIN};
    struct address from;
    int fd = -1;

    assert_int_equal(poll(&comes, 1, 20000), 1);
    assert_int_equal(socket_accept(listener, &fd, &from), HOOP_OK);
    return fd;
}

/* Where rank 0 dials its streams to rank 1, the first try comes to nothing. */
static void
stream_that_could_not_be_had_is_dialed_again(void **state)
{
    enum {
        AT_STREAM = 66
    };
    struct pollfd comes = {.events = POLLIN};
    uint8_t hello[HANDSHAKE_BYTES] = {0};
    struct address address;
    int listener = -1;

    (void)state;
    assert_int_equal(address_parse("127.0.0.1:0", &address), HOOP_OK);
    assert_int_equal(socket_listen(&address, 1, &listener), HOOP_OK);
    assert_int_equal(socket_local_address(listener, &address), HOOP_OK);
    foyer_open(&foyer);
    foyer.booths[0].roster->members[1].address = address;
    foyer_start(&foyer);
    foyer_connect(&foyer, 1, 0);
    connector_dial_stream(foyer.booths[0].connector, 1, 2);
    socket_close(next_accept(listener));
    comes.fd = next_accept(listener);
    assert_int_equal(poll(&comes, 1, 20000), 1);
    assert_int_equal(recv(comes.fd, hello, sizeof(hello), 0), sizeof(hello));
    assert_int_equal(hello[AT_STREAM], 2);
    socket_close(comes.fd);
    socket_close(listener);
    foyer_close(&foyer);
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
