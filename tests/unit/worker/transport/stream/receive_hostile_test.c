/* tests/unit/worker/transport/stream/receive_hostile_test.c - a bad peer */

#include <malloc.h>
#include <string.h>

#include "base/limits.h"
#include "check.h"
#include "transport/flow.h"
#include "transport/peer.h"
#include "unit/worker/transport/tcp_fixture.h"

enum {
    BIG = TCP_FIXTURE_BYTES,
    SMALL = 1000,
    CHUNK = 64 * 1024,
    /* docs/security.md: of a member's eager window, and of all it can have kept
     * here. */
    WINDOW_BUDGET = 16 << 20,
    MEMBER_BUDGET = 256 << 20,
    CONTROL_BUDGET = 48 << 20,
};

static void
assert_lost(const char *text)
{
    assert_int_equal(tcp_fixture.test_transport.n_lost, 1);
    if (!strstr(tcp_fixture.test_transport.text, text))
        fail_msg("lost because: %s", tcp_fixture.test_transport.text);
}

/* Bytes that the process has allocated since. */
static size_t
grown_since(size_t before)
{
    const size_t now = mallinfo2().uordblks;

    return now > before ? now - before : 0;
}

/* All that its window permits is kept, and not a frame more: also of another
 * message, operation or communicator. */
static void
bytes_beyond_the_window_lose_the_peer(void **state)
{
    const uint64_t window = eager_window_per_rank(TEST_TRANSPORT_RANKS);
    const size_t before = mallinfo2().uordblks;
    struct frame frame = tcp_fixture_eager_frame(0, CHUNK, CHUNK);
    uint64_t n_taken = 0;

    while (tcp_fixture.test_transport.n_lost == 0 && n_taken <= window) {
        frame.op++;
        frame.comm = TEST_TRANSPORT_COMM + frame.op % 3;
        tcp_fixture_feed(&frame);
        n_taken += LIMIT_FRAME_HEADER + CHUNK;
    }
    assert_lost("more bytes than its window permits without a grant");
    assert_int_equal(tcp_fixture.test_transport.n_damaged, 1);
    assert_true(n_taken > window && n_taken - window <= CHUNK + 128);
    assert_true(grown_since(before) < WINDOW_BUDGET);
}

/* Headers alone cost, too. */
static void
empty_messages_without_end_lose_the_peer(void **state)
{
    const size_t before = mallinfo2().uordblks;
    struct frame frame = frame_message(1, 9, 0, 0);
    unsigned n_sent = 0;

    frame.flags = FRAME_EAGER;
    for (; tcp_fixture.test_transport.n_lost == 0 && n_sent < 100000;
         n_sent++) {
        frame.op++;
        tcp_fixture_feed(&frame);
    }
    assert_lost("more bytes than its window permits without a grant");
    assert_int_equal(
        n_sent,
        eager_window_per_rank(TEST_TRANSPORT_RANKS) / LIMIT_FRAME_HEADER + 1);
    assert_true(grown_since(before) < WINDOW_BUDGET);
}

/* What is taken is given back, and may come again for ever. */
static void
window_that_is_given_back_is_used_again(void **state)
{
    const uint64_t window = eager_window_per_rank(TEST_TRANSPORT_RANKS);
    struct frame frame = tcp_fixture_eager_frame(0, CHUNK, CHUNK);
    struct frame answer;

    for (uint64_t n = 0; n < 4 * window; n += CHUNK) {
        struct recv_request flow =
            recv_request_collective(1, tcp_fixture.received, CHUNK);

        frame.op++;
        flow.key.op = frame.op;
        tcp_fixture_feed(&frame);
        transport_receive(tcp_fixture.test_transport.transport, &flow);
        test_transport_settle(&tcp_fixture.test_transport);
        assert_int_equal(flow.arrived, CHUNK);
        transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
        while (test_transport_next_frame(&tcp_fixture.test_transport, 1,
                                         &answer, NULL))
            continue;
    }
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
}

/* Of other operations each, until the peer is lost, or once more than a limit
 * permits. */
static void
feed_many(struct frame *frame)
{
    enum {
        N_EACH = 1000
    };
    static uint8_t bytes[N_EACH * LIMIT_FRAME_HEADER];
    const size_t before = mallinfo2().uordblks;

    for (unsigned n = 0;
         n <= LIMIT_UNEXPECTED && tcp_fixture.test_transport.n_lost == 0;
         n += N_EACH) {
        for (unsigned i = 0; i < N_EACH; i++) {
            frame->op++;
            frame_bytes(frame, NULL, bytes + i * LIMIT_FRAME_HEADER);
        }
        test_transport_feed_bytes(&tcp_fixture.test_transport, 1,
                                  (struct codec_span){bytes, sizeof(bytes)},
                                  sizeof(bytes));
        assert_true(grown_since(before) < MEMBER_BUDGET);
    }
}

static void
announcements_without_end_lose_the_peer(void **state)
{
    struct frame frame = frame_message(1, 9, 0, SMALL);

    frame.kind = FRAME_ANNOUNCE;
    frame.flags = FRAME_POINT_TO_POINT;
    feed_many(&frame);
    assert_lost("more announcements than the limit");
    assert_int_equal(tcp_fixture.test_transport.n_damaged, 1);
}

static void
credit_that_wraps_around_loses_the_peer(void **state)
{
    const struct frame frame = {.kind = FRAME_CREDIT,
                                .epoch = TEST_TRANSPORT_EPOCH,
                                .total = UINT64_MAX};

    tcp_fixture_feed(&frame);
    assert_lost("more of the window than it had");
}

/* It asks, or must be told, and never reads. */
static void
peer_that_reads_nothing_is_lost_before_memory_is(void **state)
{
    const size_t before = mallinfo2().uordblks;
    const struct frame verdict = {.kind = FRAME_FAILURE_NOTICE,
                                  .epoch = TEST_TRANSPORT_EPOCH,
                                  .comm = TEST_TRANSPORT_COMM,
                                  .op = 1};
    char text[LIMIT_NAME];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (unsigned i = 0; i < 1000000 && tcp_fixture.test_transport.n_lost == 0;
         i++) {
        transport_send_control(tcp_fixture.test_transport.transport, 1,
                               &verdict, text);
        if (i % 1000 == 0)
            transport_progress(tcp_fixture.test_transport.transport, 0);
        assert_true(i % 1000 != 0 || grown_since(before) < CONTROL_BUDGET);
    }
    transport_progress(tcp_fixture.test_transport.transport, 0);
    assert_lost("does not read");
    assert_int_equal(tcp_fixture.test_transport.n_damaged, 1);
}

static void
signs_of_life_do_not_pile_up(void **state)
{
    const size_t before = mallinfo2().uordblks;
    const struct frame sign = {.kind = FRAME_HEARTBEAT,
                               .epoch = TEST_TRANSPORT_EPOCH};

    for (unsigned i = 0; i < 100000; i++) {
        transport_send_control(tcp_fixture.test_transport.transport, 1, &sign,
                               NULL);
        if (i % 1000 == 0)
            transport_progress(tcp_fixture.test_transport.transport, 0);
    }
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
    assert_true(grown_since(before) < WINDOW_BUDGET);
}

static void
garbage_loses_the_peer_with_a_reason(void **state)
{
    uint8_t garbage[256];

    memset(garbage, 'x', sizeof(garbage));
    test_transport_feed_bytes(&tcp_fixture.test_transport, 1,
                              (struct codec_span){garbage, sizeof(garbage)},
                              256);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 1);
    assert_true(strlen(tcp_fixture.test_transport.text) > 10);
    assert_false(
        transport_is_connected(tcp_fixture.test_transport.transport, 1));
}

static void
frame_of_another_epoch_is_dropped_and_paid_for(void **state)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, SMALL);
    struct frame old = tcp_fixture_eager_frame(0, SMALL, SMALL);
    const struct frame now = tcp_fixture_eager_frame(0, SMALL, SMALL);

    old.epoch = TEST_TRANSPORT_EPOCH - 1;
    transport_receive(tcp_fixture.test_transport.transport, &flow);
    tcp_fixture_feed(&old);
    assert_int_equal(flow.arrived, 0);
    assert_untouched(0);
    /* Also those that would say something. */
    old.kind = FRAME_GOODBYE;
    old.flags = 0;
    old.raw = old.stored = 0;
    tcp_fixture_feed(&old);
    assert_int_equal(tcp_fixture.test_transport.n_left, 0);
    tcp_fixture_feed(&now);
    assert_int_equal(flow.arrived, SMALL);
    assert_int_equal(tcp_fixture.test_transport.n_lost +
                         tcp_fixture.test_transport.n_unexpected,
                     0);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

static void
bytes_that_were_not_granted_lose_the_peer(void **state)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, BIG);
    const struct frame frame = frame_collective(0, SMALL, BIG);

    flow.allowed = SMALL - 1;
    transport_receive(tcp_fixture.test_transport.transport, &flow);
    tcp_fixture_feed(&frame);
    assert_lost("not granted");
    assert_untouched(0);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

static void
bytes_out_of_order_lose_the_peer(void **state)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, SMALL);
    const struct frame frame = tcp_fixture_eager_frame(10, 20, SMALL);

    transport_receive(tcp_fixture.test_transport.transport, &flow);
    tcp_fixture_feed(&frame);
    assert_lost("out of order");
    assert_int_equal(tcp_fixture.test_transport.n_damaged, 1);
    assert_untouched(0);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

static void
bytes_out_of_order_that_came_early_lose_the_peer(void **state)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, SMALL);
    const struct frame frame = tcp_fixture_eager_frame(0, 20, SMALL);

    tcp_fixture_feed(&frame);
    tcp_fixture_feed(&frame);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
    transport_receive(tcp_fixture.test_transport.transport, &flow);
    test_transport_settle(&tcp_fixture.test_transport);
    assert_lost("out of order");
    assert_int_equal(tcp_fixture.test_transport.n_damaged, 1);
    assert_untouched(20);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

static void
bytes_sent_twice_lose_the_peer(void **state)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, SMALL);
    const struct frame frame = tcp_fixture_eager_frame(0, 20, SMALL);

    transport_receive(tcp_fixture.test_transport.transport, &flow);
    tcp_fixture_feed(&frame);
    tcp_fixture_feed(&frame);
    assert_lost("out of order");
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

static void
message_of_another_size_is_a_misfit_and_touches_nothing(void **state)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, SMALL);
    const struct frame frame = tcp_fixture_eager_frame(0, 20, SMALL + 1);

    transport_receive(tcp_fixture.test_transport.transport, &flow);
    tcp_fixture_feed(&frame);
    assert_int_equal(tcp_fixture.test_transport.n_size_mismatches, 1);
    assert_int_equal(tcp_fixture.test_transport.frame.total, SMALL + 1);
    assert_int_equal(tcp_fixture.test_transport.mismatch_total, SMALL);
    assert_int_equal(tcp_fixture.test_transport.n_lost +
                         tcp_fixture.test_transport.n_mismatches,
                     0);
    assert_untouched(0);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

static void
announcement_of_another_size_is_a_misfit(void **state)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, SMALL);
    struct frame announcement = frame_collective(0, 0, SMALL + 1);

    announcement.kind = FRAME_ANNOUNCE;
    transport_receive(tcp_fixture.test_transport.transport, &flow);
    tcp_fixture_feed(&announcement);
    assert_int_equal(tcp_fixture.test_transport.n_size_mismatches, 1);
    assert_false(tcp_fixture_next_frame());
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

static void
half_elements_lose_the_peer(void **state)
{
    struct recv_request flow = recv_request_collective(1, NULL, SMALL);
    const struct frame frame = tcp_fixture_eager_frame(0, 20, SMALL);

    flow.element_size = 8;
    transport_receive(tcp_fixture.test_transport.transport, &flow);
    tcp_fixture_feed(&frame);
    assert_lost("out of order");
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

static void
half_elements_that_came_early_lose_the_peer(void **state)
{
    struct recv_request flow = recv_request_collective(1, NULL, SMALL);
    const struct frame frame = tcp_fixture_eager_frame(0, 20, SMALL);

    flow.element_size = 8;
    tcp_fixture_feed(&frame);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
    transport_receive(tcp_fixture.test_transport.transport, &flow);
    test_transport_settle(&tcp_fixture.test_transport);
    assert_lost("out of order");
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

static void
call_of_another_signature_is_a_mismatch_and_touches_nothing(void **state)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, SMALL);
    struct frame frame = tcp_fixture_eager_frame(0, SMALL, SMALL);

    frame.signature++;
    transport_receive(tcp_fixture.test_transport.transport, &flow);
    tcp_fixture_feed(&frame);
    assert_int_equal(tcp_fixture.test_transport.n_mismatches, 1);
    assert_ptr_equal(tcp_fixture.test_transport.mismatched, &flow);
    assert_int_equal(tcp_fixture.test_transport.frame.signature,
                     TEST_TRANSPORT_SIGNATURE + 1);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
    assert_untouched(0);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

static void
announcement_of_another_call_is_a_mismatch(void **state)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, SMALL);
    struct frame announcement = frame_collective(0, 0, SMALL);

    announcement.kind = FRAME_ANNOUNCE;
    announcement.signature++;
    transport_receive(tcp_fixture.test_transport.transport, &flow);
    tcp_fixture_feed(&announcement);
    assert_int_equal(tcp_fixture.test_transport.n_mismatches, 1);
    assert_false(tcp_fixture_next_frame());
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

static void
credit_beyond_the_window_loses_the_peer(void **state)
{
    const struct frame frame = {
        .kind = FRAME_CREDIT, .epoch = TEST_TRANSPORT_EPOCH, .total = 1};

    tcp_fixture_feed(&frame);
    assert_lost("back more of the window");
}

static void
end_of_stream_without_goodbye_is_a_loss(void **state)
{
    test_transport_hang_up(&tcp_fixture.test_transport, 1);
    assert_lost("connection reset");
}

static void
death_within_a_frame_is_a_loss(void **state)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, SMALL);
    const struct frame frame = tcp_fixture_eager_frame(0, SMALL, SMALL);
    static uint8_t bytes[4096];

    frame_bytes(&frame, tcp_fixture.bytes, bytes);
    transport_receive(tcp_fixture.test_transport.transport, &flow);
    test_transport_feed_bytes(&tcp_fixture.test_transport, 1,
                              (struct codec_span){bytes, 200}, 200);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
    test_transport_hang_up(&tcp_fixture.test_transport, 1);
    assert_lost("connection reset");
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
    assert_untouched(200 - LIMIT_FRAME_HEADER);
}

static void
death_after_goodbye_within_a_frame_is_a_loss(void **state)
{
    const struct frame goodbye = {.kind = FRAME_GOODBYE,
                                  .epoch = TEST_TRANSPORT_EPOCH};
    const struct frame frame = tcp_fixture_eager_frame(0, SMALL, SMALL);
    static uint8_t bytes[4096];

    tcp_fixture_feed(&goodbye);
    assert_true(tcp_fixture_next_frame());
    frame_bytes(&frame, tcp_fixture.bytes, bytes);
    test_transport_feed_bytes(&tcp_fixture.test_transport, 1,
                              (struct codec_span){bytes, 200}, 200);
    test_transport_hang_up(&tcp_fixture.test_transport, 1);
    assert_lost("connection reset");
}

/* A coded payload as the peer's test_transport would send it. */
static struct frame
coded_frame(void)
{
    struct codec *codec = NULL;
    struct frame frame = tcp_fixture_eager_frame(0, 4096, 4096);

    memset(tcp_fixture.bytes, 7, 4096);
    assert_ok(codec_create(&codec));
    frame.codec = CODEC_ZSTD;
    frame.stored = (uint32_t)codec_encode(
        codec, CODEC_ZSTD, (struct codec_block){tcp_fixture.bytes, 4096, 4},
        tcp_fixture.payload, 4096);
    codec_destroy(codec);
    assert_true(frame.stored > 0);
    return frame;
}

static void
damaged_code_loses_the_peer(void **state)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, 4096);
    const struct frame frame = coded_frame();

    transport_receive(tcp_fixture.test_transport.transport, &flow);
    tcp_fixture.payload[0] ^= 0xff;
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                        tcp_fixture.payload);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 1);
    assert_int_equal(tcp_fixture.test_transport.n_damaged, 1);
    assert_untouched(4096);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

/* Bits of what is to keep them: integers, messages. */
static void
lossy_code_of_what_keeps_its_bits_loses_the_peer(void **state)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, 4096);
    struct frame frame = tcp_fixture_eager_frame(0, 4096, 4096);

    transport_receive(tcp_fixture.test_transport.transport, &flow);
    frame.codec = codec_with_loss(CODEC_NONE, LOSS_BF16);
    frame.stored = 2048;
    frame.call.dtype = HOOP_INT32;
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                        tcp_fixture.payload);
    assert_lost("codec 16, which loses bits");
    assert_untouched(4096);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

/* Half of the bytes are not half of the floats of more. */
static void
lossy_code_of_another_length_loses_the_peer(void **state)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, 4096);
    struct frame frame = tcp_fixture_eager_frame(0, 4096, 4096);

    transport_receive(tcp_fixture.test_transport.transport, &flow);
    frame.codec = codec_with_loss(CODEC_NONE, LOSS_FP16);
    frame.stored = 2044;
    frame.call.dtype = HOOP_FLOAT32;
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                        tcp_fixture.payload);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 1);
    assert_untouched(4096);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

static void
damaged_code_that_came_early_loses_the_peer(void **state)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, 4096);
    const struct frame frame = coded_frame();

    tcp_fixture.payload[0] ^= 0xff;
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                        tcp_fixture.payload);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
    transport_receive(tcp_fixture.test_transport.transport, &flow);
    test_transport_settle(&tcp_fixture.test_transport);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 1);
    assert_int_equal(tcp_fixture.test_transport.n_damaged, 1);
    assert_int_equal(flow.arrived, 0);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

static void
coded_payload_is_decoded_into_place_or_pieces(void **state)
{
    struct sink sink = {.bytes = tcp_fixture.received + 8192};
    struct recv_request placed =
        recv_request_collective(1, tcp_fixture.received, 4096);
    struct recv_request pieces = recv_request_collective(1, NULL, 4096);
    struct recv_request late =
        recv_request_collective(1, tcp_fixture.received + 16384, 4096);
    struct frame frame = coded_frame();

    transport_receive(tcp_fixture.test_transport.transport, &placed);
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                        tcp_fixture.payload);
    assert_memory_equal(tcp_fixture.received, tcp_fixture.bytes, 4096);

    pieces.owner = &sink;
    pieces.key.op = frame.op = 2;
    transport_receive(tcp_fixture.test_transport.transport, &pieces);
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                        tcp_fixture.payload);
    assert_int_equal(sink.n_bytes, 4096);
    assert_memory_equal(tcp_fixture.received + 8192, tcp_fixture.bytes, 4096);

    late.key.op = frame.op = 3;
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                        tcp_fixture.payload);
    transport_receive(tcp_fixture.test_transport.transport, &late);
    test_transport_settle(&tcp_fixture.test_transport);
    assert_memory_equal(tcp_fixture.received + 16384, tcp_fixture.bytes, 4096);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &placed);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &pieces);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &late);
}

enum {
    CONTROL_BIG = TCP_FIXTURE_BYTES,
    CONTROL_SMALL = 1000,
};

static void
grant_of_another_length_is_a_misfit(void **state)
{
    struct send_request flow =
        send_request_collective(1, tcp_fixture.bytes, CONTROL_BIG);
    struct frame frame = frame_collective(CONTROL_BIG, 0, CONTROL_BIG + 1);

    frame.kind = FRAME_GRANT;
    transport_send(tcp_fixture.test_transport.transport, &flow);
    assert_true(tcp_fixture_next_frame());
    assert_int_equal(tcp_fixture.frame.raw, LIMIT_EAGER_MESSAGE);
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame, NULL);
    assert_int_equal(tcp_fixture.test_transport.n_size_mismatches, 1);
    assert_int_equal(tcp_fixture.test_transport.mismatch_total, CONTROL_BIG);
    assert_int_equal(flow.granted, 0);
    transport_send_cancel(tcp_fixture.test_transport.transport, &flow);
}

/* Whoever notices may be in the middle of telling others. */
static void
peer_that_is_doomed_is_lost_with_the_next_turn(void **state)
{
    struct send_request flow =
        send_request_collective(1, tcp_fixture.bytes, CONTROL_SMALL);

    transport_send(tcp_fixture.test_transport.transport, &flow);
    peer_defer_failure(&tcp_fixture.test_transport.transport->peers[1],
                       TRANSPORT_LOST, "no memory");
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
    transport_progress(tcp_fixture.test_transport.transport, 0);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 1);
    assert_string_equal(tcp_fixture.test_transport.text, "no memory");
    assert_int_equal(flow.framed, 0);
    transport_send_cancel(tcp_fixture.test_transport.transport, &flow);
}

static void
grant_of_another_call_is_a_mismatch(void **state)
{
    struct send_request flow =
        send_request_collective(1, tcp_fixture.bytes, CONTROL_BIG);
    struct frame frame = frame_collective(CONTROL_BIG, 0, CONTROL_BIG);

    frame.kind = FRAME_GRANT;
    frame.signature++;
    transport_send(tcp_fixture.test_transport.transport, &flow);
    assert_true(tcp_fixture_next_frame());
    assert_int_equal(tcp_fixture.frame.raw, LIMIT_EAGER_MESSAGE);
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame, NULL);
    assert_int_equal(tcp_fixture.test_transport.n_mismatches, 1);
    assert_null(tcp_fixture.test_transport.mismatched);
    assert_int_equal(flow.granted, 0);
    transport_send_cancel(tcp_fixture.test_transport.transport, &flow);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TCP_FIXTURE_TEST(bytes_beyond_the_window_lose_the_peer),
        TCP_FIXTURE_TEST(empty_messages_without_end_lose_the_peer),
        TCP_FIXTURE_TEST(window_that_is_given_back_is_used_again),
        TCP_FIXTURE_TEST(announcements_without_end_lose_the_peer),
        TCP_FIXTURE_TEST(credit_that_wraps_around_loses_the_peer),
        TCP_FIXTURE_TEST(peer_that_reads_nothing_is_lost_before_memory_is),
        TCP_FIXTURE_TEST(signs_of_life_do_not_pile_up),
        TCP_FIXTURE_TEST(garbage_loses_the_peer_with_a_reason),
        TCP_FIXTURE_TEST(frame_of_another_epoch_is_dropped_and_paid_for),
        TCP_FIXTURE_TEST(bytes_that_were_not_granted_lose_the_peer),
        TCP_FIXTURE_TEST(bytes_out_of_order_lose_the_peer),
        TCP_FIXTURE_TEST(bytes_out_of_order_that_came_early_lose_the_peer),
        TCP_FIXTURE_TEST(bytes_sent_twice_lose_the_peer),
        TCP_FIXTURE_TEST(
            message_of_another_size_is_a_misfit_and_touches_nothing),
        TCP_FIXTURE_TEST(announcement_of_another_size_is_a_misfit),
        TCP_FIXTURE_TEST(half_elements_lose_the_peer),
        TCP_FIXTURE_TEST(half_elements_that_came_early_lose_the_peer),
        TCP_FIXTURE_TEST(
            call_of_another_signature_is_a_mismatch_and_touches_nothing),
        TCP_FIXTURE_TEST(announcement_of_another_call_is_a_mismatch),
        TCP_FIXTURE_TEST(credit_beyond_the_window_loses_the_peer),
        TCP_FIXTURE_TEST(end_of_stream_without_goodbye_is_a_loss),
        TCP_FIXTURE_TEST(death_within_a_frame_is_a_loss),
        TCP_FIXTURE_TEST(death_after_goodbye_within_a_frame_is_a_loss),
        TCP_FIXTURE_TEST(damaged_code_loses_the_peer),
        TCP_FIXTURE_TEST(lossy_code_of_what_keeps_its_bits_loses_the_peer),
        TCP_FIXTURE_TEST(lossy_code_of_another_length_loses_the_peer),
        TCP_FIXTURE_TEST(damaged_code_that_came_early_loses_the_peer),
        TCP_FIXTURE_TEST(coded_payload_is_decoded_into_place_or_pieces),
        TCP_FIXTURE_TEST(grant_of_another_call_is_a_mismatch),
        TCP_FIXTURE_TEST(grant_of_another_length_is_a_misfit),
        TCP_FIXTURE_TEST(peer_that_is_doomed_is_lost_with_the_next_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
