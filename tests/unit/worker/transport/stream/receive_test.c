/* tests/unit/worker/transport/stream/receive_test.c - stream/receive.c */

#include <string.h>

#include "base/limits.h"
#include "check.h"
#include "unit/worker/transport/tcp_fixture.h"

enum {
    BIG = TCP_FIXTURE_BYTES,
    SMALL = 1000,
};

static void
payload_of_an_open_flow_lands_in_its_place(void **state)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, SMALL);
    const struct frame first = tcp_fixture_eager_frame(0, 300, SMALL);
    const struct frame second = tcp_fixture_eager_frame(300, 700, SMALL);

    transport_receive(tcp_fixture.test_transport.transport, &flow);
    tcp_fixture_feed(&first);
    assert_int_equal(flow.arrived, 300);
    assert_false(transport_has_all_bytes(&flow));
    tcp_fixture_feed(&second);
    assert_int_equal(flow.arrived, SMALL);
    assert_true(transport_has_all_bytes(&flow));
    assert_memory_equal(tcp_fixture.received, tcp_fixture.bytes, SMALL);
    assert_untouched(SMALL);
    assert_int_equal(tcp_fixture.test_transport.n_unexpected, 0);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

static void
dribble(size_t n_each, size_t element_size, uint8_t *place)
{
    enum {
        FIRST = 960,
        TOTAL = 2400,
    };
    static uint8_t bytes[8192];
    struct sink sink = {.bytes = tcp_fixture.received};
    struct recv_request flow = recv_request_collective(1, place, TOTAL);
    const struct frame first = tcp_fixture_eager_frame(0, FIRST, TOTAL);
    const struct frame second =
        tcp_fixture_eager_frame(FIRST, TOTAL - FIRST, TOTAL);
    size_t n_bytes = frame_bytes(&first, tcp_fixture.bytes, bytes);

    n_bytes += frame_bytes(&second, tcp_fixture.bytes + FIRST, bytes + n_bytes);
    flow.element_size = element_size;
    flow.owner = &sink;
    memset(tcp_fixture.received, TCP_FIXTURE_GUARD, BIG);
    transport_receive(tcp_fixture.test_transport.transport, &flow);
    test_transport_feed_bytes(&tcp_fixture.test_transport, 1,
                              (struct codec_span){bytes, n_bytes}, n_each);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
    assert_int_equal(flow.arrived, TOTAL);
    assert_int_equal(sink.n_bytes, TOTAL);
    assert_memory_equal(tcp_fixture.received, tcp_fixture.bytes, TOTAL);
    assert_untouched(TOTAL);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

static void
bytes_that_come_one_by_one_arrive_all_the_same(void **state)
{
    static const size_t n_each[] = {1, 3, 7, 63, 127, 129, 1000, 8192};

    for (size_t i = 0; i < sizeof(n_each) / sizeof(n_each[0]); i++) {
        dribble(n_each[i], 1, tcp_fixture.received);
        dribble(n_each[i], 8, NULL);
        dribble(n_each[i], 16, NULL);
    }
}

static void
empty_message_completes_its_receive(void **state)
{
    struct sink sink = {.bytes = tcp_fixture.received};
    struct recv_request placed = {
        .key = {.comm = TEST_TRANSPORT_COMM, .peer = 1, .kind = FLOW_MESSAGE},
        .label = &test_transport_label,
        .place = tcp_fixture.received,
        .element_size = 4,
        .total = SMALL,
        .owner = &sink};
    struct recv_request nowhere = placed;
    const struct frame first = frame_message(1, 0, 0, 0);
    const struct frame second = frame_message(2, 0, 0, 0);

    nowhere.place = NULL;
    nowhere.total = 0;
    transport_receive(tcp_fixture.test_transport.transport, &placed);
    transport_receive(tcp_fixture.test_transport.transport, &nowhere);
    tcp_fixture_feed(&first);
    assert_int_equal(sink.n_pieces, 1);
    assert_true(transport_has_all_bytes(&placed));
    assert_int_equal(placed.total, 0);
    tcp_fixture_feed(&second);
    assert_int_equal(sink.n_pieces, 2);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &placed);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &nowhere);
}

static void
unexpected_frame_has_the_fate_it_is_given(void **state)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, SMALL);
    const struct frame first = tcp_fixture_eager_frame(0, 400, SMALL);
    const struct frame second = tcp_fixture_eager_frame(400, 600, SMALL);

    tcp_fixture.test_transport.action = TRANSPORT_DROP;
    tcp_fixture_feed(&first);
    assert_int_equal(tcp_fixture.test_transport.n_unexpected, 1);
    tcp_fixture.test_transport.action = TRANSPORT_MISMATCH;
    tcp_fixture_feed(&first);
    assert_int_equal(tcp_fixture.test_transport.n_mismatches, 1);
    assert_null(tcp_fixture.test_transport.mismatched);

    /* Dropped is dropped: these are the first that count. */
    tcp_fixture.test_transport.action = TRANSPORT_KEEP;
    tcp_fixture_feed(&first);
    tcp_fixture_feed(&second);
    assert_int_equal(flow.arrived, 0);
    transport_receive(tcp_fixture.test_transport.transport, &flow);
    assert_true(transport_has_all_bytes(&flow));
    test_transport_settle(&tcp_fixture.test_transport);
    assert_int_equal(flow.arrived, SMALL);
    assert_memory_equal(tcp_fixture.received, tcp_fixture.bytes, SMALL);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

/* The first half of a frame has come; the rest comes after the cancel. */
static void
cancel_halfway(struct recv_request *flow)
{
    static uint8_t bytes[4096];
    const struct frame frame = tcp_fixture_eager_frame(0, SMALL, SMALL);
    const size_t n_bytes = frame_bytes(&frame, tcp_fixture.bytes, bytes);
    const size_t n_first = LIMIT_FRAME_HEADER + 480;

    transport_receive(tcp_fixture.test_transport.transport, flow);
    test_transport_feed_bytes(&tcp_fixture.test_transport, 1,
                              (struct codec_span){bytes, n_first}, n_first);
    assert_int_equal(flow->arrived, 480);
    transport_receive_cancel(tcp_fixture.test_transport.transport, flow);
    transport_receive_cancel(tcp_fixture.test_transport.transport, flow);
    test_transport_feed_bytes(
        &tcp_fixture.test_transport, 1,
        (struct codec_span){bytes + n_first, n_bytes - n_first}, n_bytes);
    assert_int_equal(flow->arrived, 480);
}

static void
receive_cancel_leaves_the_buffer_alone(void **state)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, SMALL);
    struct recv_request other =
        recv_request_collective(1, tcp_fixture.received + SMALL, SMALL);
    struct frame frame = tcp_fixture_eager_frame(0, SMALL, SMALL);

    cancel_halfway(&flow);
    assert_untouched(480);

    /* The stream goes on behind it. */
    frame.op = other.key.op = 2;
    transport_receive(tcp_fixture.test_transport.transport, &other);
    tcp_fixture_feed(&frame);
    assert_int_equal(other.arrived, SMALL);
    assert_memory_equal(tcp_fixture.received + SMALL, tcp_fixture.bytes, SMALL);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &other);
}

static void
receive_cancel_of_pieces_hands_on_nothing_more(void **state)
{
    struct sink sink = {.bytes = tcp_fixture.received};
    struct recv_request flow = recv_request_collective(1, NULL, SMALL);

    flow.owner = &sink;
    flow.element_size = 8;
    cancel_halfway(&flow);
    assert_int_equal(sink.n_bytes, 480);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
}

static void
cancel_within(struct test_transport *test_transport, struct recv_request *flow)
{
    transport_receive_cancel(test_transport->transport, flow);
}

static void
receive_may_be_cancelled_as_it_arrives(void **state)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, SMALL);
    const struct frame frame = tcp_fixture_eager_frame(0, SMALL, SMALL);
    static uint8_t bytes[4096];
    const size_t n_bytes = frame_bytes(&frame, tcp_fixture.bytes, bytes);

    tcp_fixture.test_transport.arrived_hook = cancel_within;
    transport_receive(tcp_fixture.test_transport.transport, &flow);
    test_transport_feed_bytes(&tcp_fixture.test_transport, 1,
                              (struct codec_span){bytes, n_bytes}, 300);
    assert_int_equal(flow.arrived, 300 - LIMIT_FRAME_HEADER);
    assert_untouched(300 - LIMIT_FRAME_HEADER);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
}

static void
feed_verdict(size_t n_text)
{
    const struct frame frame = {.kind = FRAME_FAILURE_NOTICE,
                                .epoch = TEST_TRANSPORT_EPOCH,
                                .comm = TEST_TRANSPORT_COMM,
                                .op = 4,
                                .raw = (uint32_t)n_text,
                                .stored = (uint32_t)n_text,
                                .total = n_text};

    memset(tcp_fixture.payload, 'v', n_text);
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                        tcp_fixture.payload);
}

static void
verdict_is_told_with_a_bounded_text(void **state)
{
    feed_verdict(0);
    assert_int_equal(tcp_fixture.test_transport.n_failure_notices, 1);
    assert_string_equal(tcp_fixture.test_transport.text, "");
    feed_verdict(5);
    assert_string_equal(tcp_fixture.test_transport.text, "vvvvv");
    assert_int_equal(tcp_fixture.test_transport.frame.op, 4);
    feed_verdict(LIMIT_FRAME_PAYLOAD);
    assert_int_equal(tcp_fixture.test_transport.n_failure_notices, 3);
    assert_int_equal(strlen(tcp_fixture.test_transport.text),
                     LIMIT_ERROR_TEXT - 1);
}

static void
goodbye_is_answered_and_the_end_is_no_loss(void **state)
{
    const struct frame goodbye = {.kind = FRAME_GOODBYE,
                                  .epoch = TEST_TRANSPORT_EPOCH};

    tcp_fixture_feed(&goodbye);
    assert_int_equal(tcp_fixture.test_transport.n_left, 1);
    assert_true(tcp_fixture_next_frame());
    assert_int_equal(tcp_fixture.frame.kind, FRAME_GOODBYE);
    /* Twice is once. */
    tcp_fixture_feed(&goodbye);
    assert_int_equal(tcp_fixture.test_transport.n_left, 1);
    assert_false(tcp_fixture_next_frame());
    test_transport_hang_up(&tcp_fixture.test_transport, 1);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
}

static void
credit_comes_back_for_every_byte_that_was_consumed(void **state)
{
    enum {
        N_FRAMES = 3000,
    };
    struct frame frame = tcp_fixture_eager_frame(0, SMALL, SMALL);
    uint64_t n_back = 0;

    for (unsigned i = 0; i < N_FRAMES; i++) {
        /* Every sixth is kept, till it is forgotten; the others are dropped. */
        tcp_fixture.test_transport.action =
            i % 6 ? TRANSPORT_DROP : TRANSPORT_KEEP;
        frame.op = i;
        tcp_fixture_feed(&frame);
    }
    for (unsigned i = 0; i < N_FRAMES; i++)
        transport_drop_op_unexpected(tcp_fixture.test_transport.transport,
                                     TEST_TRANSPORT_COMM, i);
    while (tcp_fixture_next_frame()) {
        assert_int_equal(tcp_fixture.frame.kind, FRAME_CREDIT);
        n_back += tcp_fixture.frame.total;
    }
    const uint64_t n_used = (uint64_t)N_FRAMES * (SMALL + LIMIT_FRAME_HEADER);
    assert_true(n_back <= n_used);
    /* What is less than a quarter of the window waits for more. */
    assert_true(n_used - n_back < LIMIT_EAGER_WINDOW / 4);
    assert_true(n_back > n_used / 2);
}

static void
expect_grant(uint64_t up_to)
{
    assert_true(tcp_fixture_next_frame());
    assert_int_equal(tcp_fixture.frame.kind, FRAME_GRANT);
    assert_int_equal(tcp_fixture.frame.offset, up_to);
    assert_int_equal(tcp_fixture.frame.signature, TEST_TRANSPORT_SIGNATURE);
    assert_int_equal(tcp_fixture.frame.step, 2);
}

static void
grants_follow_what_is_allowed_by_and_by(void **state)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, BIG);

    flow.allowed = 100;
    transport_receive(tcp_fixture.test_transport.transport, &flow);
    assert_false(tcp_fixture_next_frame());
    flow.allowed = LIMIT_FRAME_PAYLOAD + 7;
    transport_receive_buffer_grew(tcp_fixture.test_transport.transport, &flow);
    expect_grant(LIMIT_FRAME_PAYLOAD + 7);
    flow.allowed = BIG - 1;
    transport_receive_buffer_grew(tcp_fixture.test_transport.transport, &flow);
    expect_grant(BIG - 1);
    transport_receive_buffer_grew(tcp_fixture.test_transport.transport, &flow);
    assert_false(tcp_fixture_next_frame());
    flow.allowed = BIG;
    transport_receive_buffer_grew(tcp_fixture.test_transport.transport, &flow);
    expect_grant(BIG);
    assert_false(tcp_fixture_next_frame());
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

static void
small_flow_is_granted_only_when_it_is_announced(void **state)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, SMALL);
    struct frame announcement = frame_collective(0, 0, SMALL);

    announcement.kind = FRAME_ANNOUNCE;
    transport_receive(tcp_fixture.test_transport.transport, &flow);
    assert_false(tcp_fixture_next_frame());
    tcp_fixture_feed(&announcement);
    expect_grant(SMALL);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TCP_FIXTURE_TEST(payload_of_an_open_flow_lands_in_its_place),
        TCP_FIXTURE_TEST(bytes_that_come_one_by_one_arrive_all_the_same),
        TCP_FIXTURE_TEST(empty_message_completes_its_receive),
        TCP_FIXTURE_TEST(unexpected_frame_has_the_fate_it_is_given),
        TCP_FIXTURE_TEST(receive_cancel_leaves_the_buffer_alone),
        TCP_FIXTURE_TEST(receive_cancel_of_pieces_hands_on_nothing_more),
        TCP_FIXTURE_TEST(receive_may_be_cancelled_as_it_arrives),
        TCP_FIXTURE_TEST(verdict_is_told_with_a_bounded_text),
        TCP_FIXTURE_TEST(goodbye_is_answered_and_the_end_is_no_loss),
        TCP_FIXTURE_TEST(credit_comes_back_for_every_byte_that_was_consumed),
        TCP_FIXTURE_TEST(grants_follow_what_is_allowed_by_and_by),
        TCP_FIXTURE_TEST(small_flow_is_granted_only_when_it_is_announced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
