/* tests/unit/worker/transport/match_early_test.c - what comes before its
 * flow */

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "match_fixture.h"
#include "transport/unexpected_queue.h"

static void
grant_before_its_flow_is_remembered(void **state)
{
    struct frame grant = frame_collective(300, 0, SMALL);
    struct send_request flow =
        send_request_collective(1, tcp_fixture.bytes, SMALL);
    struct send_request again =
        send_request_collective(1, tcp_fixture.bytes, SMALL);

    grant.kind = FRAME_GRANT;
    test_transport_feed(&tcp_fixture.test_transport, 1, &grant, NULL);
    grant.offset = 200;
    test_transport_feed(&tcp_fixture.test_transport, 1, &grant, NULL);
    assert_int_equal(tcp_fixture.test_transport.n_unexpected, 2);
    transport_send(tcp_fixture.test_transport.transport, &flow);
    assert_int_equal(flow.granted, 300);
    transport_send_cancel(tcp_fixture.test_transport.transport, &flow);
    transport_send(tcp_fixture.test_transport.transport, &again);
    assert_int_equal(again.granted, 0);
    transport_send_cancel(tcp_fixture.test_transport.transport, &again);
}

static void
forgotten_operation_leaves_nothing(void **state)
{
    struct frame grant = frame_collective(300, 0, SMALL);
    struct frame frame = frame_collective(0, 100, 100);
    struct send_request out =
        send_request_collective(1, tcp_fixture.bytes, SMALL);
    struct recv_request in =
        recv_request_collective(1, tcp_fixture.received, 100);

    grant.kind = FRAME_GRANT;
    frame.flags = FRAME_EAGER;
    test_transport_feed(&tcp_fixture.test_transport, 1, &grant, NULL);
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                        tcp_fixture.bytes);
    feed_message(1, 1, 0, 0);
    transport_drop_op_unexpected(tcp_fixture.test_transport.transport,
                                 TEST_TRANSPORT_COMM, 2);
    transport_drop_op_unexpected(tcp_fixture.test_transport.transport,
                                 TEST_TRANSPORT_COMM + 1, 1);
    transport_drop_op_unexpected(tcp_fixture.test_transport.transport,
                                 TEST_TRANSPORT_COMM, 1);
    transport_send(tcp_fixture.test_transport.transport, &out);
    assert_int_equal(out.granted, 0);
    transport_send_cancel(tcp_fixture.test_transport.transport, &out);
    receive(&in);
    assert_int_equal(in.arrived, 0);
    cancel(&in);

    /* A message is no operation: it is still there. */
    struct recv_request message = posted(1, 0, 1);
    receive(&message);
    expect_message(&message, 1, 0);
    cancel(&message);
}

static void
early_frames_of_another_call_are_a_mismatch(void **state)
{
    struct frame frame = frame_collective(0, 100, 100);
    struct recv_request in =
        recv_request_collective(1, tcp_fixture.received, 100);

    frame.flags = FRAME_EAGER;
    frame.signature++;
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                        tcp_fixture.bytes);
    receive(&in);
    assert_int_equal(tcp_fixture.test_transport.n_mismatches, 1);
    assert_ptr_equal(tcp_fixture.test_transport.mismatched, &in);
    assert_int_equal(tcp_fixture.test_transport.frame.signature,
                     TEST_TRANSPORT_SIGNATURE + 1);
    assert_int_equal(tcp_fixture.received[0], TCP_FIXTURE_GUARD);
    cancel(&in);
}

/* From both ranks, of operations that share lists; the last is of another call,
 * the one before it of another communicator. */
static void
feed_many(uint64_t n_ops)
{
    struct frame frame = frame_collective(0, 8, 8);

    frame.flags = FRAME_EAGER;
    for (frame.op = 1; frame.op <= n_ops; frame.op++) {
        frame.signature = TEST_TRANSPORT_SIGNATURE + (frame.op == n_ops);
        frame.comm = TEST_TRANSPORT_COMM + (frame.op == n_ops - 1);
        test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                            tcp_fixture.bytes);
        test_transport_feed(&tcp_fixture.test_transport, 2, &frame,
                            tcp_fixture.bytes);
    }
}

static bool
finds(uint64_t op, uint64_t except, uint32_t *out_peer)
{
    const struct transport_unexpected_filter wanted = {.comm =
                                                           TEST_TRANSPORT_COMM,
                                                       .op = op,
                                                       .step_last = UINT32_MAX,
                                                       .except = except};
    struct frame first = {.op = 0};

    if (!transport_find_unexpected(tcp_fixture.test_transport.transport,
                                   &wanted, out_peer, &first))
        return false;
    assert_int_equal(first.op, op);
    return true;
}

static void
early_frames_are_found_by_their_operation(void **state)
{
    const uint64_t last = 3 * (uint64_t)UNEXPECTED_INDEX_LISTS;
    uint32_t peer = 0;

    feed_many(last);
    for (uint64_t op = 1; op <= last; op++) {
        assert_int_equal(finds(op, 0, &peer), op != last - 1);
        assert_int_equal(finds(op, TEST_TRANSPORT_SIGNATURE, &peer),
                         op == last);
    }
    transport_drop_op_unexpected(tcp_fixture.test_transport.transport,
                                 TEST_TRANSPORT_COMM, 1);
    assert_false(finds(1, 0, &peer));
    assert_true(finds(1 + UNEXPECTED_INDEX_LISTS, 0, &peer));
    assert_int_equal(peer, 1);
    transport_drop_op_unexpected(tcp_fixture.test_transport.transport,
                                 TEST_TRANSPORT_COMM,
                                 1 + UNEXPECTED_INDEX_LISTS);
    assert_true(
        transport_has_unexpected(tcp_fixture.test_transport.transport, 1));
    transport_drop_op_unexpected(tcp_fixture.test_transport.transport,
                                 TEST_TRANSPORT_COMM,
                                 1 + 2 * UNEXPECTED_INDEX_LISTS);
    assert_false(
        transport_has_unexpected(tcp_fixture.test_transport.transport, 1));
}

static void
early_frames_out_of_order_lose_the_peer(void **state)
{
    struct frame frame = frame_collective(50, 50, 100);
    struct recv_request in =
        recv_request_collective(1, tcp_fixture.received, 100);

    frame.flags = FRAME_EAGER;
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                        tcp_fixture.bytes);
    receive(&in);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 1);
    assert_int_equal(tcp_fixture.received[0], TCP_FIXTURE_GUARD);
    cancel(&in);
}

/* The first half was kept; the second is read while it is taken. */
static void
early_half_and_late_half_make_one_message(void **state)
{
    struct frame frame = frame_collective(0, 40, 100);
    struct recv_request in =
        recv_request_collective(1, tcp_fixture.received, 100);
    uint8_t bytes[512];

    frame.flags = FRAME_EAGER;
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                        tcp_fixture.bytes);
    frame.offset = 40;
    frame.raw = frame.stored = 60;
    const size_t n_bytes = frame_bytes(&frame, tcp_fixture.bytes + 40, bytes);
    test_transport_feed_bytes(&tcp_fixture.test_transport, 1,
                              (struct codec_span){bytes, 150}, 150);
    transport_receive(tcp_fixture.test_transport.transport, &in);
    test_transport_feed_bytes(&tcp_fixture.test_transport, 1,
                              (struct codec_span){bytes + 150, n_bytes - 150},
                              7);
    assert_int_equal(in.arrived, 100);
    assert_memory_equal(tcp_fixture.received, tcp_fixture.bytes, 100);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
    cancel(&in);
}

static void
early_bytes_wait_for_what_is_allowed(void **state)
{
    struct frame frame = frame_collective(0, 40, 100);
    struct recv_request in =
        recv_request_collective(1, tcp_fixture.received, 100);

    frame.flags = FRAME_EAGER;
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                        tcp_fixture.bytes);
    in.allowed = 39;
    receive(&in);
    assert_int_equal(in.arrived, 0);
    /* What comes behind it queues up behind it. */
    in.allowed = 40;
    frame.offset = 40;
    frame.raw = frame.stored = 60;
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                        tcp_fixture.bytes + 40);
    transport_receive_buffer_grew(tcp_fixture.test_transport.transport, &in);
    test_transport_settle(&tcp_fixture.test_transport);
    assert_int_equal(in.arrived, 40);
    in.allowed = 100;
    transport_receive_buffer_grew(tcp_fixture.test_transport.transport, &in);
    test_transport_settle(&tcp_fixture.test_transport);
    assert_int_equal(in.arrived, 100);
    assert_memory_equal(tcp_fixture.received, tcp_fixture.bytes, 100);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
    cancel(&in);
}

static void
promises_beyond_the_limit_lose_the_peer(void **state)
{
    struct frame grant = frame_collective(1, 0, SMALL);
    enum {
        N_EACH = 250, /* divides the limit */
    };
    static uint8_t bytes[N_EACH * LIMIT_FRAME_HEADER];
    unsigned n_sent = 0;

    grant.kind = FRAME_GRANT;
    for (unsigned i = 0; i < N_EACH; i++) {
        grant.op = 100 + i;
        frame_bytes(&grant, NULL, bytes + i * LIMIT_FRAME_HEADER);
    }
    for (; n_sent < LIMIT_UNEXPECTED; n_sent += N_EACH)
        test_transport_feed_bytes(&tcp_fixture.test_transport, 1,
                                  (struct codec_span){bytes, sizeof(bytes)},
                                  sizeof(bytes));
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
    test_transport_feed(&tcp_fixture.test_transport, 1, &grant, NULL);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 1);
    assert_non_null(strstr(tcp_fixture.test_transport.text, "more grants"));
}

static void
feed_withdrawal(uint64_t op)
{
    struct frame frame = frame_message(op, 0, 0, 0);

    frame.kind = FRAME_ANNOUNCE;
    frame.flags = FRAME_POINT_TO_POINT | FRAME_WITHDRAWN;
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame, NULL);
}

static void
message_withdrawn_before_its_receive_is_forgotten(void **state)
{
    const struct frame half = frame_message(1, 0, 100, 200);
    struct recv_request flow = posted(1, 0, 0);

    test_transport_feed(&tcp_fixture.test_transport, 1, &half,
                        tcp_fixture.bytes);
    feed_withdrawal(1);
    feed_withdrawal(77);
    receive(&flow);
    assert_false(flow.is_matched);
    feed_message(1, 2, 0, 300);
    expect_message(&flow, 1, 300);
    assert_int_equal(tcp_fixture.test_transport.n_retracted, 0);
    cancel(&flow);
}

static void
message_withdrawn_from_its_receive_is_told(void **state)
{
    const struct frame half = frame_message(1, 0, 100, 200);
    struct recv_request flow = posted(1, 0, 0);
    struct recv_request next = posted(1, 0, 1);

    receive(&flow);
    receive(&next);
    test_transport_feed(&tcp_fixture.test_transport, 1, &half,
                        tcp_fixture.bytes);
    feed_withdrawal(1);
    assert_int_equal(tcp_fixture.test_transport.n_retracted, 1);
    assert_false(flow.is_open);
    feed_message(1, 2, 0, 300);
    expect_message(&next, 1, 300);
    cancel(&next);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        MATCH_TEST(grant_before_its_flow_is_remembered),
        MATCH_TEST(forgotten_operation_leaves_nothing),
        MATCH_TEST(early_frames_of_another_call_are_a_mismatch),
        MATCH_TEST(early_frames_are_found_by_their_operation),
        MATCH_TEST(early_frames_out_of_order_lose_the_peer),
        MATCH_TEST(early_half_and_late_half_make_one_message),
        MATCH_TEST(early_bytes_wait_for_what_is_allowed),
        MATCH_TEST(message_withdrawn_before_its_receive_is_forgotten),
        MATCH_TEST(message_withdrawn_from_its_receive_is_told),
        MATCH_TEST(promises_beyond_the_limit_lose_the_peer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
