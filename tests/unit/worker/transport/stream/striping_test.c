/* tests/unit/worker/transport/stream/striping_test.c - stream/striping.c */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "segments.h"
#include "transport/peer.h"
#include "transport/stream/stream_group.h"
#include "unit/worker/transport/transport_pair.h"
#include "wire/frame.h"

enum {
    LARGE = 3 << 20,
    STREAMS = 3,
};

static int others[2]; /* the last stream's ends */

static int
three_streams_open(void **state)
{
    setenv("HOOP_STREAMS", "3", 1);
    return transport_pair_open(state);
}

static void
stream_join(unsigned stream)
{
    pair_open(others);
    transport_attach_stream(here.transport, 1, stream, others[0]);
    transport_attach_stream(there.transport, 0, stream, others[1]);
}

static void
streams_join(void)
{
    for (unsigned i = 1; i <= STREAMS; i++)
        stream_join(i);
    test_transports_settle(&here, &there);
}

static const struct stream_group *
stream_group_at(const struct test_transport *test_transport, uint32_t peer)
{
    return test_transport->transport->peers[peer].striping.group;
}

static unsigned
n_wanted(const struct test_transport *test_transport, uint32_t peer)
{
    return test_transport->transport->peers[peer].striping.n_wanted;
}

/* A turn would find work. */
static bool
is_woken(const struct test_transport *test_transport)
{
    struct pollfd end = {.fd = transport_fd(test_transport->transport),
                         .events = POLLIN};

    return poll(&end, 1, 0) > 0;
}

/* LARGE bytes each way at once; small ones between them. */
static void
exchange(unsigned seed)
{
    uint8_t *bytes[4];
    struct send_request outs[2];
    struct recv_request ins[2];
    struct test_transport *const test_transports[2] = {&here, &there};

    for (unsigned i = 0; i < 4; i++)
        bytes[i] = calloc(1, LARGE);
    for (uint32_t i = 0; i < 2; i++) {
        pattern_fill(bytes[i], LARGE, seed + i);
        outs[i] = send_request_collective(1 - i, bytes[i], LARGE);
        ins[i] = recv_request_collective(1 - i, bytes[2 + i], LARGE);
        outs[i].key.op = ins[i].key.op = seed;
        transport_receive(test_transports[i]->transport, &ins[i]);
        transport_send(test_transports[i]->transport, &outs[i]);
    }
    test_transports_settle(&here, &there);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(ins[i].arrived, LARGE);
        pattern_check(bytes[2 + i], LARGE, seed + 1 - i);
        transport_receive_cancel(test_transports[i]->transport, &ins[i]);
    }
    for (unsigned i = 0; i < 4; i++)
        free(bytes[i]);
}

static void
both_directions_are_spread_once_all_are_there(void **state)
{
    assert_int_equal(n_wanted(&here, 1), STREAMS);
    assert_int_equal(n_wanted(&there, 0), 0);
    exchange(10);
    stream_join(1);
    stream_join(3);
    exchange(11);
    assert_false(stream_group_at(&here, 1)->is_sending);
    stream_join(2);
    exchange(12);
    assert_true(stream_group_at(&here, 1)->is_sending);
    assert_true(stream_group_at(&here, 1)->is_receiving);
    assert_true(stream_group_at(&there, 0)->is_sending);
    assert_int_equal(stream_group_at(&there, 0)->n_streams, STREAMS);
    for (unsigned i = 13; i < 18; i++)
        exchange(i);
    assert_int_equal(here.n_lost + there.n_lost, 0);
}

/* Its side of the handshake may be over first. */
static void
streams_may_come_before_the_first_connection(void **state)
{
    int fds[2];

    for (unsigned i = 1; i <= STREAMS; i++) {
        pair_open(fds);
        transport_attach_stream(here.transport, 2, i, fds[0]);
        close(fds[1]);
    }
    assert_int_equal(here.n_lost, 0);
    test_transport_attach(&here, 2);
    test_transport_settle(&here);
    assert_int_equal(n_wanted(&here, 2), STREAMS);
}

static void
goodbyes_end_a_bundle_without_a_loss(void **state)
{
    streams_join();
    exchange(20);
    transport_start_shutdown(here.transport);
    test_transports_settle(&here, &there);
    transport_start_shutdown(there.transport);
    test_transports_settle(&here, &there);
    assert_true(transport_is_shut_down(here.transport));
    assert_true(transport_is_shut_down(there.transport));
    assert_int_equal(here.n_lost + there.n_lost, 0);
    assert_null(stream_group_at(&here, 1));
}

static void
end_of_one_stream_is_the_peers(void **state)
{
    streams_join();
    exchange(30);
    shutdown(others[1], SHUT_RDWR);
    test_transports_settle(&here, &there);
    assert_int_equal(here.n_lost, 1);
    assert_int_equal(there.n_lost, 1);
}

/* Whether or not there is a first connection yet. Who then says that it will be
 * used is lost. */
static void
broken_stream_that_is_not_used_yet_is_let_go(void **state)
{
    static const uint8_t mark[STREAM_GROUP_MARK_BYTES] = {1, 0, 0, 0, 1};
    const struct frame spread = {
        .kind = FRAME_STRIPED, .epoch = TEST_TRANSPORT_EPOCH, .total = 1};

    for (unsigned has_first = 0; has_first < 2; has_first++) {
        struct test_transport test_transport;
        int fds[2];

        test_transport_open(&test_transport, 1, CODEC_NONE);
        if (has_first)
            test_transport_attach(&test_transport, 0);
        pair_open(fds);
        transport_attach_stream(test_transport.transport, 0, 1, fds[0]);
        test_transport_settle(&test_transport);
        assert_false(is_woken(&test_transport));
        close(fds[1]);
        test_transport_settle(&test_transport);
        assert_false(is_woken(&test_transport));
        assert_int_equal(test_transport.n_lost, 0);
        if (!has_first)
            test_transport_attach(&test_transport, 0);
        test_transport_feed(&test_transport, 0, &spread, NULL);
        assert_int_equal(test_transport.n_lost, 0);
        test_transport_feed_bytes(&test_transport, 0,
                                  (struct codec_span){mark, sizeof(mark)},
                                  sizeof(mark));
        assert_int_equal(test_transport.n_lost, 1);
        test_transport_close(&test_transport);
    }
}

/* Rank 1, whose rank 0 has begun a stream group of one stream, that fd
 * feeds. */
static void
stream_group_open(struct test_transport *test_transport, int *out_fd)
{
    const struct frame spread = {
        .kind = FRAME_STRIPED, .epoch = TEST_TRANSPORT_EPOCH, .total = 1};
    int fds[2];

    test_transport_open(test_transport, 1, CODEC_NONE);
    test_transport_attach(test_transport, 0);
    pair_open(fds);
    transport_attach_stream(test_transport->transport, 0, 1, fds[0]);
    test_transport_feed(test_transport, 0, &spread, NULL);
    *out_fd = fds[1];
}

static const uint8_t goodbye_mark[STREAM_GROUP_MARK_BYTES] = {
    1, 0, 0, 0, LIMIT_FRAME_HEADER};

static void
first_connection_is_let_be_while_another_is_awaited(void **state)
{
    struct test_transport test_transport;
    int fd;

    stream_group_open(&test_transport, &fd);
    for (unsigned i = 0; i < 2; i++)
        test_transport_feed_bytes(
            &test_transport, 0,
            (struct codec_span){goodbye_mark, sizeof(goodbye_mark)},
            sizeof(goodbye_mark));
    assert_false(is_woken(&test_transport));
    assert_int_equal(test_transport.n_lost, 0);
    test_transport_close(&test_transport);
    close(fd);
}

/* Both have shut the first: what another still carries comes all the same. */
static void
goodbye_behind_the_end_of_the_first_is_heard(void **state)
{
    const struct frame goodbye = {.kind = FRAME_GOODBYE,
                                  .epoch = TEST_TRANSPORT_EPOCH};
    uint8_t bytes[LIMIT_FRAME_HEADER];
    struct test_transport test_transport;
    int fd;

    stream_group_open(&test_transport, &fd);
    transport_start_shutdown(test_transport.transport);
    test_transport_feed_bytes(
        &test_transport, 0,
        (struct codec_span){goodbye_mark, sizeof(goodbye_mark)},
        sizeof(goodbye_mark));
    shutdown(test_transport.raw[0], SHUT_WR);
    test_transport_settle(&test_transport);
    assert_int_equal(test_transport.n_lost, 0);
    frame_encode(&goodbye, bytes);
    assert_int_equal(send(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
    test_transport_settle(&test_transport);
    assert_int_equal(test_transport.n_lost, 0);
    assert_int_equal(test_transport.n_left, 1);
    assert_true(transport_is_shut_down(test_transport.transport));
    test_transport_close(&test_transport);
    close(fd);
}

static void
spread_over_what_cannot_be_is_refused(void **state)
{
    static const uint64_t wrong[] = {0, LIMIT_STREAMS + 1};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct test_transport test_transport;
        const struct frame frame = {.kind = FRAME_STRIPED,
                                    .epoch = TEST_TRANSPORT_EPOCH,
                                    .total = wrong[i]};

        test_transport_open(&test_transport, 1, CODEC_NONE);
        test_transport_attach(&test_transport, 0);
        test_transport_feed(&test_transport, 0, &frame, NULL);
        assert_int_equal(test_transport.n_lost, 1);
        test_transport_close(&test_transport);
    }
}

/* What follows the frame is a mark, whatever was read with it. */
static void
marks_behind_the_frame_are_read(void **state)
{
    static const uint8_t mark[STREAM_GROUP_MARK_BYTES] = {0, 0, 0, 0,
                                                          LIMIT_FRAME_HEADER};
    const struct frame spread = {
        .kind = FRAME_STRIPED, .epoch = TEST_TRANSPORT_EPOCH, .total = 1};
    const struct frame goodbye = {.kind = FRAME_GOODBYE,
                                  .epoch = TEST_TRANSPORT_EPOCH};
    uint8_t bytes[2 * LIMIT_FRAME_HEADER + STREAM_GROUP_MARK_BYTES];
    struct test_transport test_transport;

    frame_encode(&spread, bytes);
    memcpy(bytes + LIMIT_FRAME_HEADER, mark, sizeof(mark));
    frame_encode(&goodbye, bytes + LIMIT_FRAME_HEADER + sizeof(mark));
    test_transport_open(&test_transport, 1, CODEC_NONE);
    test_transport_attach(&test_transport, 0);
    test_transport_feed_bytes(&test_transport, 0,
                              (struct codec_span){bytes, sizeof(bytes)},
                              sizeof(bytes));
    assert_int_equal(test_transport.n_lost, 0);
    assert_int_equal(test_transport.n_left, 1);
    test_transport_close(&test_transport);
}

static void
nothing_is_spread_over_shared_memory(void **state)
{
    struct test_transport one;
    struct test_transport other;

    setenv("HOOP_TRANSPORT", "shm", 1);
    test_transport_open(&one, 0, CODEC_NONE);
    test_transport_open(&other, 1, CODEC_NONE);
    test_transport_connect(&one, &other);
    setenv("HOOP_TRANSPORT", "tcp", 1);
    assert_int_equal(n_wanted(&one, 1), 0);
    pair_open(others);
    transport_attach_stream(one.transport, 1, 1, others[0]);
    transport_attach_stream(other.transport, 0, 1, others[1]);
    test_transports_settle(&one, &other);
    assert_int_equal(one.n_lost + other.n_lost, 0);
    assert_null(stream_group_at(&one, 1));
    test_transport_close(&one);
    test_transport_close(&other);
}

/* Rank 0 and 1 at these addresses, on nodes of their own. */
static bool
is_measured(const char *first, const char *second)
{
    const char *const addresses[] = {first, second};
    struct test_transport one;

    setenv("HOOP_STREAMS", "auto", 1);
    test_transport_open(&one, 0, CODEC_NONE);
    for (uint32_t i = 0; i < 2; i++) {
        struct member *member = &one.roster->members[i];

        snprintf(member->host_id, sizeof(member->host_id), "node%u", i);
        assert_ok(address_parse(addresses[i], &member->address));
    }
    test_transport_attach(&one, 1);
    const bool is_settled =
        one.transport->peers[1].striping.autotune.is_settled;
    test_transport_close(&one);
    return !is_settled;
}

static void
streams_are_measured_between_hosts_alone(void **state)
{
    assert_true(is_measured("10.0.0.1:1", "10.0.0.2:1"));
    assert_false(is_measured("127.0.0.1:1", "127.0.0.1:2"));
}

#define SPREAD_TEST(name)                                                      \
    cmocka_unit_test_setup_teardown(name, three_streams_open,                  \
                                    transport_pair_close)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SPREAD_TEST(both_directions_are_spread_once_all_are_there),
        SPREAD_TEST(streams_may_come_before_the_first_connection),
        SPREAD_TEST(goodbyes_end_a_bundle_without_a_loss),
        SPREAD_TEST(end_of_one_stream_is_the_peers),
        cmocka_unit_test(broken_stream_that_is_not_used_yet_is_let_go),
        cmocka_unit_test(first_connection_is_let_be_while_another_is_awaited),
        cmocka_unit_test(goodbye_behind_the_end_of_the_first_is_heard),
        cmocka_unit_test(spread_over_what_cannot_be_is_refused),
        cmocka_unit_test(marks_behind_the_frame_are_read),
        cmocka_unit_test(streams_are_measured_between_hosts_alone),
        cmocka_unit_test(nothing_is_spread_over_shared_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
