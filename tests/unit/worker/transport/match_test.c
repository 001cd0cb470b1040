/* tests/unit/worker/transport/match_test.c - transport/match.c */

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "match_fixture.h"

static bool
next(uint32_t rank)
{
    return test_transport_next_frame(&tcp_fixture.test_transport, rank,
                                     &tcp_fixture.frame, tcp_fixture.payload);
}

static void
messages_match_in_the_order_of_their_posting(void **state)
{
    struct recv_request first = posted(1, 0, 0);
    struct recv_request second = posted(1, 0, 1);

    receive(&first);
    receive(&second);
    feed_message(1, 1, 0, 0);
    assert_int_equal(second.arrived, 0);
    feed_message(1, 2, 0, 200);
    expect_message(&first, 1, 0);
    expect_message(&second, 1, 200);
    assert_int_equal(tcp_fixture.test_transport.n_matched, 2);
    cancel(&first);
    cancel(&second);
}

static void
early_messages_match_in_the_order_of_their_sending(void **state)
{
    struct recv_request first = posted(1, 0, 0);
    struct recv_request second = posted(1, 0, 1);

    feed_message(1, 1, 0, 0);
    feed_message(1, 2, 0, 200);
    receive(&first);
    receive(&second);
    expect_message(&first, 1, 0);
    expect_message(&second, 1, 200);
    cancel(&first);
    cancel(&second);
}

/* Neither of the larger nor of the smaller. */
static void
tags_never_cross(void **state)
{
    for (uint64_t tag = 0; tag < 2; tag++) {
        struct recv_request mine = posted(1, tag, 0);
        struct recv_request other = posted(1, 1 - tag, 1);

        receive(&mine);
        feed_message(1, 1 + 2 * tag, 1 - tag, 0);
        assert_false(mine.is_matched);
        receive(&other);
        expect_message(&other, 1, 0);
        feed_message(1, 2 + 2 * tag, tag, 300);
        expect_message(&mine, 1, 300);
        cancel(&mine);
        cancel(&other);
    }
}

static void
sources_and_communicators_never_cross(void **state)
{
    struct recv_request flow = posted(1, 0, 0);
    struct frame frame = frame_message(1, 0, 100, 100);

    receive(&flow);
    feed_message(2, 1, 0, 0);
    frame.comm++;
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                        tcp_fixture.bytes);
    assert_false(flow.is_matched);
    feed_message(1, 2, 0, 300);
    expect_message(&flow, 1, 300);
    cancel(&flow);
}

static void
any_source_takes_what_came_first(void **state)
{
    struct recv_request flows[3];
    static const uint32_t ranks[] = {2, 1, 2};

    feed_message(2, 1, 0, 0);
    feed_message(1, 1, 0, 100);
    feed_message(2, 2, 0, 200);
    for (unsigned i = 0; i < 3; i++) {
        flows[i] = posted(FLOW_ANY_PEER, 0, i);
        receive(&flows[i]);
        expect_message(&flows[i], ranks[i], 100 * i);
        cancel(&flows[i]);
    }
}

static void
any_source_that_waits_takes_the_next_to_come(void **state)
{
    struct recv_request any = posted(FLOW_ANY_PEER, 0, 0);
    struct recv_request named = posted(2, 0, 1);

    receive(&any);
    receive(&named);
    feed_message(2, 1, 0, 0);
    feed_message(2, 2, 0, 100);
    expect_message(&any, 2, 0);
    expect_message(&named, 2, 100);
    cancel(&any);
    cancel(&named);
}

static void
receive_cancelled_before_its_message_leaves_it_to_the_next(void **state)
{
    struct recv_request gone = posted(1, 0, 0);
    struct recv_request there = posted(1, 0, 1);

    receive(&gone);
    cancel(&gone);
    feed_message(1, 1, 0, 0);
    receive(&there);
    assert_int_equal(gone.arrived, 0);
    expect_message(&there, 1, 0);
    cancel(&there);
}

static void
rest_of_a_cancelled_message_is_dropped_alone(void **state)
{
    struct recv_request gone = posted(1, 0, 0);
    struct recv_request there = posted(1, 0, 1);
    struct frame frame = frame_message(1, 0, 100, 300);

    receive(&gone);
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                        tcp_fixture.bytes);
    assert_int_equal(gone.arrived, 100);
    cancel(&gone);
    receive(&there);
    for (frame.offset = 100; frame.offset < 300; frame.offset += 100)
        test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                            tcp_fixture.bytes + frame.offset);
    assert_false(there.is_matched);
    assert_int_equal(tcp_fixture.received[100], TCP_FIXTURE_GUARD);
    feed_message(1, 2, 0, 700);
    expect_message(&there, 1, 700);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
    cancel(&there);
}

/* Part of it was kept when the receive came and went. */
static void
early_message_that_is_cancelled_does_not_match_again(void **state)
{
    struct recv_request gone = posted(1, 0, 0);
    struct recv_request there = posted(1, 0, 1);
    struct frame frame = frame_message(1, 0, 100, 200);

    test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                        tcp_fixture.bytes);
    transport_receive(tcp_fixture.test_transport.transport, &gone);
    cancel(&gone);
    receive(&there);
    assert_false(there.is_matched);
    frame.offset = 100;
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                        tcp_fixture.bytes);
    assert_false(there.is_matched);
    cancel(&there);
}

static void
message_that_does_not_fit_is_a_mismatch(void **state)
{
    struct recv_request flow = posted(1, 0, 0);
    struct recv_request after = posted(1, 0, 1);

    flow.total = 99;
    receive(&flow);
    feed_message(1, 1, 0, 0);
    assert_int_equal(tcp_fixture.test_transport.n_mismatches, 1);
    assert_ptr_equal(tcp_fixture.test_transport.mismatched, &flow);
    assert_int_equal(tcp_fixture.received[0], TCP_FIXTURE_GUARD);
    /* It is over: the next receive is for the next message. */
    receive(&after);
    assert_false(after.is_matched);
    feed_message(1, 2, 0, 100);
    expect_message(&after, 1, 100);
    cancel(&after);
}

static void
message_for_no_room_at_all_is_a_mismatch_once(void **state)
{
    struct recv_request flow = posted(1, 0, 0);
    struct recv_request after = posted(1, 0, 1);

    flow.total = 0;
    receive(&flow);
    feed_message(1, 1, 0, 0);
    assert_int_equal(tcp_fixture.test_transport.n_mismatches, 1);
    receive(&after);
    assert_false(after.is_matched);
    cancel(&after);
}

static void
message_of_another_dtype_is_a_mismatch(void **state)
{
    struct recv_request flow = posted(1, 0, 0);
    struct frame frame = frame_message(1, 0, 100, 100);

    frame.call.dtype = 2;
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                        tcp_fixture.bytes);
    receive(&flow);
    assert_int_equal(tcp_fixture.test_transport.n_mismatches, 1);
    assert_int_equal(tcp_fixture.received[0], TCP_FIXTURE_GUARD);
    assert_false(flow.is_open);
}

static void
announced_message_is_granted_when_it_is_received(void **state)
{
    struct recv_request flow = posted(FLOW_ANY_PEER, 1, 0);
    struct frame frame = frame_message(9, 1, 0, 100);

    frame.kind = FRAME_ANNOUNCE;
    frame.flags = FRAME_POINT_TO_POINT;
    test_transport_feed(&tcp_fixture.test_transport, 2, &frame, NULL);
    assert_false(next(2));
    receive(&flow);
    assert_true(flow.is_matched);
    assert_false(transport_has_all_bytes(&flow));
    assert_true(next(2));
    assert_int_equal(tcp_fixture.frame.kind, FRAME_GRANT);
    assert_int_equal(tcp_fixture.frame.flags, FRAME_POINT_TO_POINT);
    assert_int_equal(tcp_fixture.frame.op, 9);
    assert_int_equal(tcp_fixture.frame.offset, 100);

    frame = frame_message(9, 1, 100, 100);
    frame.flags = 0;
    test_transport_feed(&tcp_fixture.test_transport, 2, &frame,
                        tcp_fixture.bytes);
    expect_message(&flow, 2, 0);
    cancel(&flow);
}

/* It is matched, but its bytes are still to come. */
static void
announced_message_is_taken_by_one_receive_only(void **state)
{
    struct recv_request first = posted(1, 0, 0);
    struct recv_request second = posted(1, 0, 1);
    struct frame frame = frame_message(1, 0, 0, 100);

    frame.kind = FRAME_ANNOUNCE;
    frame.flags = FRAME_POINT_TO_POINT;
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame, NULL);
    transport_receive(tcp_fixture.test_transport.transport, &first);
    transport_receive(tcp_fixture.test_transport.transport, &second);
    assert_true(first.is_matched);
    assert_false(second.is_matched);
    test_transport_settle(&tcp_fixture.test_transport);
    feed_message(1, 1, 0, 300);
    feed_message(1, 2, 0, 500);
    expect_message(&first, 1, 300);
    expect_message(&second, 1, 500);
    cancel(&first);
    cancel(&second);
}

/* Of one that the window has no room for only a part comes unasked. */
static void
message_that_may_go_whole_is_granted_when_it_does_not(void **state)
{
    enum {
        LARGE = LIMIT_EAGER_MESSAGE + 1000,
        PART = 500,
    };
    static uint8_t bytes[2][LARGE];

    pattern_fill(bytes[0], LARGE, 1);
    for (unsigned i = 0; i < 4; i++) {
        const bool is_early = i % 2;
        const uint32_t n_first = i / 2 ? PART : LARGE;
        struct recv_request flow = posted(1, 0, 0);

        flow.place = bytes[1];
        flow.total = LARGE;
        if (!is_early)
            receive(&flow);
        assert_false(next(1));
        const struct frame frame = frame_message(1 + i, 0, n_first, LARGE);
        test_transport_feed(&tcp_fixture.test_transport, 1, &frame, bytes[0]);
        if (is_early)
            receive(&flow);
        assert_int_equal(flow.arrived, n_first);
        pattern_check(bytes[1], n_first, 1);
        assert_int_equal(next(1), n_first < LARGE);
        if (n_first < LARGE) {
            assert_int_equal(tcp_fixture.frame.kind, FRAME_GRANT);
            assert_int_equal(tcp_fixture.frame.offset, LARGE);
        }
        cancel(&flow);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        MATCH_TEST(messages_match_in_the_order_of_their_posting),
        MATCH_TEST(early_messages_match_in_the_order_of_their_sending),
        MATCH_TEST(tags_never_cross),
        MATCH_TEST(sources_and_communicators_never_cross),
        MATCH_TEST(any_source_takes_what_came_first),
        MATCH_TEST(any_source_that_waits_takes_the_next_to_come),
        MATCH_TEST(receive_cancelled_before_its_message_leaves_it_to_the_next),
        MATCH_TEST(rest_of_a_cancelled_message_is_dropped_alone),
        MATCH_TEST(early_message_that_is_cancelled_does_not_match_again),
        MATCH_TEST(message_that_does_not_fit_is_a_mismatch),
        MATCH_TEST(message_for_no_room_at_all_is_a_mismatch_once),
        MATCH_TEST(message_of_another_dtype_is_a_mismatch),
        MATCH_TEST(announced_message_is_taken_by_one_receive_only),
        MATCH_TEST(announced_message_is_granted_when_it_is_received),
        MATCH_TEST(message_that_may_go_whole_is_granted_when_it_does_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
