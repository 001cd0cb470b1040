/* tests/unit/worker/transport/tcp/receive_hostile_test.c - a bad peer */

#include <malloc.h>
#include <string.h>

#include "base/limits.h"
#include "check.h"
#include "transport/flow.h"
#include "transport/peer.h"
#include "unit/worker/transport/desk.h"

enum {
    BIG = DESK_BYTES,
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
    assert_int_equal(desk.station.n_lost, 1);
    if (!strstr(desk.station.text, text))
        fail_msg("lost because: %s", desk.station.text);
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
    const uint64_t window = window_per_rank(STATION_RANKS);
    const size_t before = mallinfo2().uordblks;
    struct frame frame = desk_eager(0, CHUNK, CHUNK);
    uint64_t n_taken = 0;

    (void)state;
    while (desk.station.n_lost == 0 && n_taken <= window) {
        frame.op++;
        frame.comm = STATION_COMM + frame.op % 3;
        desk_feed(&frame);
        n_taken += LIMIT_FRAME_HEADER + CHUNK;
    }
    assert_lost("more bytes than its window permits without a grant");
    assert_int_equal(desk.station.n_damaged, 1);
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

    (void)state;
    frame.flags = FRAME_EAGER;
    for (; desk.station.n_lost == 0 && n_sent < 100000; n_sent++) {
        frame.op++;
        desk_feed(&frame);
    }
    assert_lost("more bytes than its window permits without a grant");
    assert_int_equal(n_sent,
                     window_per_rank(STATION_RANKS) / LIMIT_FRAME_HEADER + 1);
    assert_true(grown_since(before) < WINDOW_BUDGET);
}

/* What is taken is given back, and may come again for ever. */
static void
window_that_is_given_back_is_used_again(void **state)
{
    const uint64_t window = window_per_rank(STATION_RANKS);
    struct frame frame = desk_eager(0, CHUNK, CHUNK);
    struct frame answer;

    (void)state;
    for (uint64_t n = 0; n < 4 * window; n += CHUNK) {
        struct recv_request flow =
            recv_request_collective(1, desk.received, CHUNK);

        frame.op++;
        flow.key.op = frame.op;
        desk_feed(&frame);
        transport_receive(desk.station.transport, &flow);
        station_settle(&desk.station);
        assert_int_equal(flow.arrived, CHUNK);
        transport_receive_cancel(desk.station.transport, &flow);
        while (station_next(&desk.station, 1, &answer, NULL))
            continue;
    }
    assert_int_equal(desk.station.n_lost, 0);
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

    for (unsigned n = 0; n <= LIMIT_UNEXPECTED && desk.station.n_lost == 0;
         n += N_EACH) {
        for (unsigned i = 0; i < N_EACH; i++) {
            frame->op++;
            frame_bytes(frame, NULL, bytes + i * LIMIT_FRAME_HEADER);
        }
        station_feed_bytes(&desk.station, 1,
                           (struct codec_span){bytes, sizeof(bytes)},
                           sizeof(bytes));
        assert_true(grown_since(before) < MEMBER_BUDGET);
    }
}

static void
announcements_without_end_lose_the_peer(void **state)
{
    struct frame frame = frame_message(1, 9, 0, SMALL);

    (void)state;
    frame.kind = FRAME_ANNOUNCE;
    frame.flags = FRAME_POINT_TO_POINT;
    feed_many(&frame);
    assert_lost("more announcements than the limit");
    assert_int_equal(desk.station.n_damaged, 1);
}

static void
credit_that_wraps_around_loses_the_peer(void **state)
{
    const struct frame frame = {
        .kind = FRAME_CREDIT, .epoch = STATION_EPOCH, .total = UINT64_MAX};

    (void)state;
    desk_feed(&frame);
    assert_lost("more of the window than it had");
}

/* It asks, or must be told, and never reads. */
static void
peer_that_reads_nothing_is_lost_before_memory_is(void **state)
{
    const size_t before = mallinfo2().uordblks;
    const struct frame verdict = {.kind = FRAME_VERDICT,
                                  .epoch = STATION_EPOCH,
                                  .comm = STATION_COMM,
                                  .op = 1};
    char text[LIMIT_NAME];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (unsigned i = 0; i < 1000000 && desk.station.n_lost == 0; i++) {
        transport_send_control(desk.station.transport, 1, &verdict, text);
        if (i % 1000 == 0)
            transport_progress(desk.station.transport, 0);
        assert_true(i % 1000 != 0 || grown_since(before) < CONTROL_BUDGET);
    }
    transport_progress(desk.station.transport, 0);
    assert_lost("does not read");
    assert_int_equal(desk.station.n_damaged, 1);
}

static void
signs_of_life_do_not_pile_up(void **state)
{
    const size_t before = mallinfo2().uordblks;
    const struct frame sign = {.kind = FRAME_HEARTBEAT, .epoch = STATION_EPOCH};

    (void)state;
    for (unsigned i = 0; i < 100000; i++) {
        transport_send_control(desk.station.transport, 1, &sign, NULL);
        if (i % 1000 == 0)
            transport_progress(desk.station.transport, 0);
    }
    assert_int_equal(desk.station.n_lost, 0);
    assert_true(grown_since(before) < WINDOW_BUDGET);
}

static void
garbage_loses_the_peer_with_a_reason(void **state)
{
    uint8_t garbage[256];

    (void)state;
    memset(garbage, 'x', sizeof(garbage));
    station_feed_bytes(&desk.station, 1,
                       (struct codec_span){garbage, sizeof(garbage)}, 256);
    assert_int_equal(desk.station.n_lost, 1);
    assert_true(strlen(desk.station.text) > 10);
    assert_false(transport_is_connected(desk.station.transport, 1));
}

static void
frame_of_another_epoch_is_dropped_and_paid_for(void **state)
{
    struct recv_request flow = recv_request_collective(1, desk.received, SMALL);
    struct frame old = desk_eager(0, SMALL, SMALL);
    const struct frame now = desk_eager(0, SMALL, SMALL);

    (void)state;
    old.epoch = STATION_EPOCH - 1;
    transport_receive(desk.station.transport, &flow);
    desk_feed(&old);
    assert_int_equal(flow.arrived, 0);
    assert_untouched(0);
    /* Also those that would say something. */
    old.kind = FRAME_GOODBYE;
    old.flags = 0;
    old.raw = old.stored = 0;
    desk_feed(&old);
    assert_int_equal(desk.station.n_left, 0);
    desk_feed(&now);
    assert_int_equal(flow.arrived, SMALL);
    assert_int_equal(desk.station.n_lost + desk.station.n_unexpected, 0);
    transport_receive_cancel(desk.station.transport, &flow);
}

static void
bytes_that_were_not_granted_lose_the_peer(void **state)
{
    struct recv_request flow = recv_request_collective(1, desk.received, BIG);
    const struct frame frame = frame_collective(0, SMALL, BIG);

    (void)state;
    flow.allowed = SMALL - 1;
    transport_receive(desk.station.transport, &flow);
    desk_feed(&frame);
    assert_lost("not granted");
    assert_untouched(0);
    transport_receive_cancel(desk.station.transport, &flow);
}

static void
bytes_out_of_order_lose_the_peer(void **state)
{
    struct recv_request flow = recv_request_collective(1, desk.received, SMALL);
    const struct frame frame = desk_eager(10, 20, SMALL);

    (void)state;
    transport_receive(desk.station.transport, &flow);
    desk_feed(&frame);
    assert_lost("out of order");
    assert_int_equal(desk.station.n_damaged, 1);
    assert_untouched(0);
    transport_receive_cancel(desk.station.transport, &flow);
}

static void
bytes_out_of_order_that_came_early_lose_the_peer(void **state)
{
    struct recv_request flow = recv_request_collective(1, desk.received, SMALL);
    const struct frame frame = desk_eager(0, 20, SMALL);

    (void)state;
    desk_feed(&frame);
    desk_feed(&frame);
    assert_int_equal(desk.station.n_lost, 0);
    transport_receive(desk.station.transport, &flow);
    station_settle(&desk.station);
    assert_lost("out of order");
    assert_int_equal(desk.station.n_damaged, 1);
    assert_untouched(20);
    transport_receive_cancel(desk.station.transport, &flow);
}

static void
bytes_sent_twice_lose_the_peer(void **state)
{
    struct recv_request flow = recv_request_collective(1, desk.received, SMALL);
    const struct frame frame = desk_eager(0, 20, SMALL);

    (void)state;
    transport_receive(desk.station.transport, &flow);
    desk_feed(&frame);
    desk_feed(&frame);
    assert_lost("out of order");
    transport_receive_cancel(desk.station.transport, &flow);
}

static void
message_of_another_size_is_a_misfit_and_touches_nothing(void **state)
{
    struct recv_request flow = recv_request_collective(1, desk.received, SMALL);
    const struct frame frame = desk_eager(0, 20, SMALL + 1);

    (void)state;
    transport_receive(desk.station.transport, &flow);
    desk_feed(&frame);
    assert_int_equal(desk.station.n_size_mismatches, 1);
    assert_int_equal(desk.station.frame.total, SMALL + 1);
    assert_int_equal(desk.station.mismatch_total, SMALL);
    assert_int_equal(desk.station.n_lost + desk.station.n_mismatches, 0);
    assert_untouched(0);
    transport_receive_cancel(desk.station.transport, &flow);
}

static void
announcement_of_another_size_is_a_misfit(void **state)
{
    struct recv_request flow = recv_request_collective(1, desk.received, SMALL);
    struct frame announcement = frame_collective(0, 0, SMALL + 1);

    (void)state;
    announcement.kind = FRAME_ANNOUNCE;
    transport_receive(desk.station.transport, &flow);
    desk_feed(&announcement);
    assert_int_equal(desk.station.n_size_mismatches, 1);
    assert_false(desk_next());
    transport_receive_cancel(desk.station.transport, &flow);
}

static void
half_elements_lose_the_peer(void **state)
{
    struct recv_request flow = recv_request_collective(1, NULL, SMALL);
    const struct frame frame = desk_eager(0, 20, SMALL);

    (void)state;
    flow.element_size = 8;
    transport_receive(desk.station.transport, &flow);
    desk_feed(&frame);
    assert_lost("out of order");
    transport_receive_cancel(desk.station.transport, &flow);
}

static void
call_of_another_signature_is_a_mismatch_and_touches_nothing(void **state)
{
    struct recv_request flow = recv_request_collective(1, desk.received, SMALL);
    struct frame frame = desk_eager(0, SMALL, SMALL);

    (void)state;
    frame.signature++;
    transport_receive(desk.station.transport, &flow);
    desk_feed(&frame);
    assert_int_equal(desk.station.n_mismatches, 1);
    assert_ptr_equal(desk.station.mismatched, &flow);
    assert_int_equal(desk.station.frame.signature, STATION_SIGNATURE + 1);
    assert_int_equal(desk.station.n_lost, 0);
    assert_untouched(0);
    transport_receive_cancel(desk.station.transport, &flow);
}

static void
announcement_of_another_call_is_a_mismatch(void **state)
{
    struct recv_request flow = recv_request_collective(1, desk.received, SMALL);
    struct frame announcement = frame_collective(0, 0, SMALL);

    (void)state;
    announcement.kind = FRAME_ANNOUNCE;
    announcement.signature++;
    transport_receive(desk.station.transport, &flow);
    desk_feed(&announcement);
    assert_int_equal(desk.station.n_mismatches, 1);
    assert_false(desk_next());
    transport_receive_cancel(desk.station.transport, &flow);
}

static void
credit_beyond_the_window_loses_the_peer(void **state)
{
    const struct frame frame = {
        .kind = FRAME_CREDIT, .epoch = STATION_EPOCH, .total = 1};

    (void)state;
    desk_feed(&frame);
    assert_lost("back more of the window");
}

static void
end_of_stream_without_goodbye_is_a_loss(void **state)
{
    (void)state;
    station_hang_up(&desk.station, 1);
    assert_lost("connection reset");
}

static void
death_within_a_frame_is_a_loss(void **state)
{
    struct recv_request flow = recv_request_collective(1, desk.received, SMALL);
    const struct frame frame = desk_eager(0, SMALL, SMALL);
    static uint8_t bytes[4096];

    (void)state;
    frame_bytes(&frame, desk.bytes, bytes);
    transport_receive(desk.station.transport, &flow);
    station_feed_bytes(&desk.station, 1, (struct codec_span){bytes, 200}, 200);
    assert_int_equal(desk.station.n_lost, 0);
    station_hang_up(&desk.station, 1);
    assert_lost("connection reset");
    transport_receive_cancel(desk.station.transport, &flow);
    assert_untouched(200 - LIMIT_FRAME_HEADER);
}

static void
death_after_goodbye_within_a_frame_is_a_loss(void **state)
{
    const struct frame goodbye = {.kind = FRAME_GOODBYE,
                                  .epoch = STATION_EPOCH};
    const struct frame frame = desk_eager(0, SMALL, SMALL);
    static uint8_t bytes[4096];

    (void)state;
    desk_feed(&goodbye);
    assert_true(desk_next());
    frame_bytes(&frame, desk.bytes, bytes);
    station_feed_bytes(&desk.station, 1, (struct codec_span){bytes, 200}, 200);
    station_hang_up(&desk.station, 1);
    assert_lost("connection reset");
}

/* A coded payload as the peer's station would send it. */
static struct frame
coded_frame(void)
{
    struct codec *codec = NULL;
    struct frame frame = desk_eager(0, 4096, 4096);

    memset(desk.bytes, 7, 4096);
    assert_int_equal(codec_create(&codec), HOOP_OK);
    frame.codec = CODEC_ZSTD;
    frame.stored = (uint32_t)codec_encode(
        codec, CODEC_ZSTD, (struct codec_block){desk.bytes, 4096, 4},
        desk.payload, 4096);
    codec_destroy(codec);
    assert_true(frame.stored > 0);
    return frame;
}

static void
damaged_code_loses_the_peer(void **state)
{
    struct recv_request flow = recv_request_collective(1, desk.received, 4096);
    const struct frame frame = coded_frame();

    (void)state;
    transport_receive(desk.station.transport, &flow);
    desk.payload[0] ^= 0xff;
    station_feed(&desk.station, 1, &frame, desk.payload);
    assert_int_equal(desk.station.n_lost, 1);
    assert_int_equal(desk.station.n_damaged, 1);
    assert_untouched(4096);
    transport_receive_cancel(desk.station.transport, &flow);
}

/* Bits of what is to keep them: integers, messages. */
static void
lossy_code_of_what_keeps_its_bits_loses_the_peer(void **state)
{
    struct recv_request flow = recv_request_collective(1, desk.received, 4096);
    struct frame frame = desk_eager(0, 4096, 4096);

    (void)state;
    transport_receive(desk.station.transport, &flow);
    frame.codec = codec_with_loss(CODEC_NONE, LOSS_BF16);
    frame.stored = 2048;
    frame.call.dtype = HOOP_INT32;
    station_feed(&desk.station, 1, &frame, desk.payload);
    assert_lost("codec 16, which loses bits");
    assert_untouched(4096);
    transport_receive_cancel(desk.station.transport, &flow);
}

/* Half of the bytes are not half of the floats of more. */
static void
lossy_code_of_another_length_loses_the_peer(void **state)
{
    struct recv_request flow = recv_request_collective(1, desk.received, 4096);
    struct frame frame = desk_eager(0, 4096, 4096);

    (void)state;
    transport_receive(desk.station.transport, &flow);
    frame.codec = codec_with_loss(CODEC_NONE, LOSS_FP16);
    frame.stored = 2044;
    frame.call.dtype = HOOP_FLOAT32;
    station_feed(&desk.station, 1, &frame, desk.payload);
    assert_int_equal(desk.station.n_lost, 1);
    assert_untouched(4096);
    transport_receive_cancel(desk.station.transport, &flow);
}

static void
damaged_code_that_came_early_loses_the_peer(void **state)
{
    struct recv_request flow = recv_request_collective(1, desk.received, 4096);
    const struct frame frame = coded_frame();

    (void)state;
    desk.payload[0] ^= 0xff;
    station_feed(&desk.station, 1, &frame, desk.payload);
    assert_int_equal(desk.station.n_lost, 0);
    transport_receive(desk.station.transport, &flow);
    station_settle(&desk.station);
    assert_int_equal(desk.station.n_lost, 1);
    assert_int_equal(desk.station.n_damaged, 1);
    assert_int_equal(flow.arrived, 0);
    transport_receive_cancel(desk.station.transport, &flow);
}

static void
coded_payload_is_decoded_into_place_or_pieces(void **state)
{
    struct sink sink = {.bytes = desk.received + 8192};
    struct recv_request placed =
        recv_request_collective(1, desk.received, 4096);
    struct recv_request pieces = recv_request_collective(1, NULL, 4096);
    struct recv_request late =
        recv_request_collective(1, desk.received + 16384, 4096);
    struct frame frame = coded_frame();

    (void)state;
    transport_receive(desk.station.transport, &placed);
    station_feed(&desk.station, 1, &frame, desk.payload);
    assert_memory_equal(desk.received, desk.bytes, 4096);

    pieces.owner = &sink;
    pieces.key.op = frame.op = 2;
    transport_receive(desk.station.transport, &pieces);
    station_feed(&desk.station, 1, &frame, desk.payload);
    assert_int_equal(sink.n_bytes, 4096);
    assert_memory_equal(desk.received + 8192, desk.bytes, 4096);

    late.key.op = frame.op = 3;
    station_feed(&desk.station, 1, &frame, desk.payload);
    transport_receive(desk.station.transport, &late);
    station_settle(&desk.station);
    assert_memory_equal(desk.received + 16384, desk.bytes, 4096);
    assert_int_equal(desk.station.n_lost, 0);
    transport_receive_cancel(desk.station.transport, &placed);
    transport_receive_cancel(desk.station.transport, &pieces);
    transport_receive_cancel(desk.station.transport, &late);
}

enum {
    CONTROL_BIG = DESK_BYTES,
    CONTROL_SMALL = 1000,
};

static void
grant_of_another_length_is_a_misfit(void **state)
{
    struct send_request flow =
        send_request_collective(1, desk.bytes, CONTROL_BIG);
    struct frame frame = frame_collective(CONTROL_BIG, 0, CONTROL_BIG + 1);

    (void)state;
    frame.kind = FRAME_GRANT;
    transport_send(desk.station.transport, &flow);
    assert_true(desk_next());
    assert_int_equal(desk.frame.raw, LIMIT_EAGER_MESSAGE);
    station_feed(&desk.station, 1, &frame, NULL);
    assert_int_equal(desk.station.n_size_mismatches, 1);
    assert_int_equal(desk.station.mismatch_total, CONTROL_BIG);
    assert_int_equal(flow.granted, 0);
    transport_send_cancel(desk.station.transport, &flow);
}

/* Whoever notices may be in the middle of telling others. */
static void
peer_that_is_doomed_is_lost_with_the_next_turn(void **state)
{
    struct send_request flow =
        send_request_collective(1, desk.bytes, CONTROL_SMALL);

    (void)state;
    transport_send(desk.station.transport, &flow);
    peer_defer_failure(&desk.station.transport->peers[1], "no memory");
    assert_int_equal(desk.station.n_lost, 0);
    transport_progress(desk.station.transport, 0);
    assert_int_equal(desk.station.n_lost, 1);
    assert_string_equal(desk.station.text, "no memory");
    assert_int_equal(flow.framed, 0);
    transport_send_cancel(desk.station.transport, &flow);
}

static void
grant_of_another_call_is_a_mismatch(void **state)
{
    struct send_request flow =
        send_request_collective(1, desk.bytes, CONTROL_BIG);
    struct frame frame = frame_collective(CONTROL_BIG, 0, CONTROL_BIG);

    (void)state;
    frame.kind = FRAME_GRANT;
    frame.signature++;
    transport_send(desk.station.transport, &flow);
    assert_true(desk_next());
    assert_int_equal(desk.frame.raw, LIMIT_EAGER_MESSAGE);
    station_feed(&desk.station, 1, &frame, NULL);
    assert_int_equal(desk.station.n_mismatches, 1);
    assert_null(desk.station.mismatched);
    assert_int_equal(flow.granted, 0);
    transport_send_cancel(desk.station.transport, &flow);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DESK_TEST(bytes_beyond_the_window_lose_the_peer),
        DESK_TEST(empty_messages_without_end_lose_the_peer),
        DESK_TEST(window_that_is_given_back_is_used_again),
        DESK_TEST(announcements_without_end_lose_the_peer),
        DESK_TEST(credit_that_wraps_around_loses_the_peer),
        DESK_TEST(peer_that_reads_nothing_is_lost_before_memory_is),
        DESK_TEST(signs_of_life_do_not_pile_up),
        DESK_TEST(garbage_loses_the_peer_with_a_reason),
        DESK_TEST(frame_of_another_epoch_is_dropped_and_paid_for),
        DESK_TEST(bytes_that_were_not_granted_lose_the_peer),
        DESK_TEST(bytes_out_of_order_lose_the_peer),
        DESK_TEST(bytes_out_of_order_that_came_early_lose_the_peer),
        DESK_TEST(bytes_sent_twice_lose_the_peer),
        DESK_TEST(message_of_another_size_is_a_misfit_and_touches_nothing),
        DESK_TEST(announcement_of_another_size_is_a_misfit),
        DESK_TEST(half_elements_lose_the_peer),
        DESK_TEST(call_of_another_signature_is_a_mismatch_and_touches_nothing),
        DESK_TEST(announcement_of_another_call_is_a_mismatch),
        DESK_TEST(credit_beyond_the_window_loses_the_peer),
        DESK_TEST(end_of_stream_without_goodbye_is_a_loss),
        DESK_TEST(death_within_a_frame_is_a_loss),
        DESK_TEST(death_after_goodbye_within_a_frame_is_a_loss),
        DESK_TEST(damaged_code_loses_the_peer),
        DESK_TEST(lossy_code_of_what_keeps_its_bits_loses_the_peer),
        DESK_TEST(lossy_code_of_another_length_loses_the_peer),
        DESK_TEST(damaged_code_that_came_early_loses_the_peer),
        DESK_TEST(coded_payload_is_decoded_into_place_or_pieces),
        DESK_TEST(grant_of_another_call_is_a_mismatch),
        DESK_TEST(grant_of_another_length_is_a_misfit),
        DESK_TEST(peer_that_is_doomed_is_lost_with_the_next_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
