/*
 * tests/unit/worker/transport/match_fixture.h - messages and their receives
 *
 * Rank 0 is a test_transport. Ranks 1 and 2 are the test itself.
 */

#ifndef TESTS_UNIT_WORKER_TRANSPORT_MATCH_FIXTURE_H
#define TESTS_UNIT_WORKER_TRANSPORT_MATCH_FIXTURE_H

#include "check.h"
#include "tcp_fixture.h"

enum {
    SMALL = 1000,
};

static inline int
match_fixture_open(void **state)
{
    tcp_fixture_open(state);
    test_transport_attach(&tcp_fixture.test_transport, 2);
    return 0;
}

#define MATCH_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, match_fixture_open, tcp_fixture_close)

/* Returns the buffer of one of several receives. */
static inline uint8_t *
received(unsigned at)
{
    return tcp_fixture.received + at * SMALL;
}

/* A message is recognised by the place of its bytes in tcp_fixture.bytes. */
static inline void
feed_message(uint32_t rank, uint64_t op, uint64_t tag, size_t from)
{
    const struct frame frame = frame_message(op, tag, 100, 100);

    test_transport_feed(&tcp_fixture.test_transport, rank, &frame,
                        tcp_fixture.bytes + from);
}

static const struct flow_label labels[] = {
    {.epoch = TEST_TRANSPORT_EPOCH, .tag = 0, .call = {.dtype = 1}},
    {.epoch = TEST_TRANSPORT_EPOCH, .tag = 1, .call = {.dtype = 1}},
};

static inline struct recv_request
posted(uint32_t peer, uint64_t tag, unsigned at)
{
    return (struct recv_request){
        .key = {.comm = TEST_TRANSPORT_COMM,
                .peer = peer,
                .kind = FLOW_MESSAGE},
        .label = &labels[tag],
        .place = received(at),
        .element_size = 1,
        .total = SMALL,
    };
}

static inline void
expect_message(const struct recv_request *flow, uint32_t rank, size_t from)
{
    assert_true(flow->is_matched);
    assert_int_equal(flow->key.peer, rank);
    assert_int_equal(flow->total, 100);
    assert_int_equal(flow->arrived, 100);
    assert_memory_equal(flow->place, tcp_fixture.bytes + from, 100);
    assert_int_equal(flow->place[100], TCP_FIXTURE_GUARD);
}

static inline void
receive(struct recv_request *flow)
{
    transport_receive(tcp_fixture.test_transport.transport, flow);
    test_transport_settle(&tcp_fixture.test_transport);
}

static inline void
cancel(struct recv_request *flow)
{
    transport_receive_cancel(tcp_fixture.test_transport.transport, flow);
}

#endif
