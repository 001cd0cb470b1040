/*
 * tests/unit/worker/transport/inline_test.c - transport/inline.c
 *
 * What is not taken at once must be what a turn takes, as if nobody had looked.
 */

#include <string.h>

#include "base/limits.h"
#include "check.h"
#include "shm_fixture.h"

enum {
    SMALL = SHM_FIXTURE_SMALL,
    TAG = 4,
};

/* Of test_transport_label's call. */
static struct flow_label label;

static struct recv_request
inflow_message(uint64_t total)
{
    label = test_transport_label;
    label.tag = TAG;
    return (struct recv_request){
        .key = {.comm = TEST_TRANSPORT_COMM, .peer = 1, .kind = FLOW_MESSAGE},
        .label = &label,
        .place = shm_fixture.got,
        .element_size = 1,
        .total = total,
    };
}

static struct send_request
outflow_message(uint64_t op, uint64_t total)
{
    label = test_transport_label;
    label.tag = TAG;
    return (struct send_request){
        .key = {.comm = TEST_TRANSPORT_COMM,
                .op = op,
                .peer = 1,
                .kind = FLOW_MESSAGE},
        .label = &label,
        .bytes = shm_fixture.bytes,
        .total = total,
        .ready = total,
    };
}

static bool
send_at_once(struct send_request *out)
{
    struct transport *transport = shm_fixture.here.transport;
    const bool is_sent = transport_send_inline(transport, out);

    transport_flush(transport);
    assert_false(is_sent && transport_needs_progress(transport));
    return is_sent;
}

/* Into the ring, without a turn: n_bytes of the frame from first on. */
static void
write_part(const struct frame *frame, size_t first, size_t n_bytes)
{
    static uint8_t stream[LIMIT_FRAME_HEADER + SHM_FIXTURE_LARGE];
    const size_t n_frame = frame_bytes(frame, shm_fixture.bytes, stream);
    const size_t n_part = n_bytes < n_frame - first ? n_bytes : n_frame - first;
    const struct iovec span = {stream + first, n_part};

    assert_int_equal(ring_write(&shm_fixture.peer->out, &span, 1), n_part);
}

static void
write_frame(const struct frame *frame)
{
    write_part(frame, 0, SIZE_MAX);
}

static enum transport_inline_result
look(struct recv_request *in)
{
    struct transport *transport = shm_fixture.here.transport;

    assert_true(transport_can_receive_inline(transport, 1));
    return transport_receive_inline(transport, in);
}

static void
message_is_taken_where_it_lies(void **state)
{
    const struct frame frame = frame_message(6, TAG, SMALL, SMALL);
    struct recv_request in = inflow_message(SMALL + 1);

    assert_int_equal(look(&in), TRANSPORT_INLINE_NOT_ARRIVED);
    write_frame(&frame);
    assert_int_equal(look(&in), TRANSPORT_INLINE_DONE);
    assert_int_equal(in.total, SMALL);
    assert_int_equal(in.key.op, 6);
    pattern_check(shm_fixture.got, SMALL, 3);
    assert_int_equal(look(&in), TRANSPORT_INLINE_NOT_ARRIVED);
    /* The peer knows that there is room again. */
    assert_int_equal(atomic_load(&shm_fixture.peer->out.control->read),
                     shm_fixture.peer->out.written);
    assert_int_equal(shm_fixture.here.n_matched, 0);
}

static void
message_of_no_bytes_is_taken(void **state)
{
    const struct frame frame = frame_message(1, TAG, 0, 0);
    struct recv_request in = inflow_message(0);

    in.place = NULL;
    write_frame(&frame);
    assert_int_equal(look(&in), TRANSPORT_INLINE_DONE);
    assert_int_equal(in.total, 0);
}

static void
half_a_message_is_waited_for(void **state)
{
    const struct frame frame = frame_message(1, TAG, SMALL, SMALL);
    struct recv_request in = inflow_message(SMALL);

    write_part(&frame, 0, LIMIT_FRAME_HEADER);
    assert_int_equal(look(&in), TRANSPORT_INLINE_NOT_ARRIVED);
    write_part(&frame, LIMIT_FRAME_HEADER, RING_ALIGNMENT_BYTES);
    assert_int_equal(look(&in), TRANSPORT_INLINE_NOT_ARRIVED);
    write_part(&frame, LIMIT_FRAME_HEADER + RING_ALIGNMENT_BYTES, SIZE_MAX);
    assert_int_equal(look(&in), TRANSPORT_INLINE_DONE);
    pattern_check(shm_fixture.got, SMALL, 3);
}

/* ... and lies where it lay, for whom it is for. */
static void
expect_left(struct frame frame, struct recv_request wanted)
{
    struct recv_request in = inflow_message(SMALL);

    write_frame(&frame);
    assert_int_equal(look(&in), TRANSPORT_INLINE_NEEDS_PROGRESS);
    assert_int_equal(look(&in), TRANSPORT_INLINE_NEEDS_PROGRESS);
    transport_receive(shm_fixture.here.transport, &wanted);
    test_transport_settle(&shm_fixture.here);
    assert_int_equal(wanted.arrived, frame.raw);
    pattern_check(shm_fixture.got, frame.raw, 3);
    transport_receive_cancel(shm_fixture.here.transport, &wanted);
    assert_int_equal(shm_fixture.here.n_lost, 0);
}

static void
what_is_not_looked_for_is_left(void **state)
{
    struct frame frame = frame_message(1, TAG + 1, SMALL, SMALL);
    struct recv_request wanted = inflow_message(SMALL);
    struct flow_label other = label;

    wanted.label = &other;
    other.tag = TAG + 1;
    expect_left(frame, wanted);

    other = label;
    frame = frame_message(2, TAG, SMALL, SMALL);
    frame.comm++;
    wanted.key.comm++;
    expect_left(frame, wanted);

    frame = frame_message(3, TAG, SMALL + 64, SMALL + 64);
    wanted = inflow_message(SMALL + 64);
    expect_left(frame, wanted);

    expect_left(frame_collective(0, SMALL, SMALL),
                recv_request_collective(1, shm_fixture.got, SMALL));
}

/* Only whole ones are taken, and what fits a row of the ring. */
static void
large_message_is_left(void **state)
{
    const uint32_t n_bytes = RING_PIECE_BYTES - LIMIT_FRAME_HEADER;
    struct frame frame = frame_message(1, TAG, SMALL, 2 * SMALL);
    struct recv_request in = inflow_message(2 * SMALL);

    write_frame(&frame);
    assert_int_equal(look(&in), TRANSPORT_INLINE_NEEDS_PROGRESS);
    shm_fixture_close(state);
    shm_fixture_open(state);

    in = inflow_message(SHM_FIXTURE_LARGE);
    frame = frame_message(1, TAG, n_bytes, n_bytes);
    write_frame(&frame);
    assert_int_equal(look(&in), TRANSPORT_INLINE_DONE);
    pattern_check(shm_fixture.got, n_bytes, 3);
    in = inflow_message(SHM_FIXTURE_LARGE);
    frame = frame_message(2, TAG, n_bytes + 1, n_bytes + 1);
    write_part(&frame, 0, LIMIT_FRAME_HEADER);
    assert_int_equal(look(&in), TRANSPORT_INLINE_NEEDS_PROGRESS);
}

static void
what_the_peer_may_not_send_is_left_to_a_turn(void **state)
{
    struct frame frame = frame_message(1, TAG, SMALL, SMALL);
    struct recv_request in = inflow_message(SMALL);

    in.element_size = 3;
    write_frame(&frame);
    assert_int_equal(look(&in), TRANSPORT_INLINE_NEEDS_PROGRESS);
    shm_fixture_close(state);
    shm_fixture_open(state);

    frame.epoch++;
    in = inflow_message(SMALL);
    write_frame(&frame);
    assert_int_equal(look(&in), TRANSPORT_INLINE_NEEDS_PROGRESS);
    shm_fixture_close(state);
    shm_fixture_open(state);

    const struct iovec garbage = {shm_fixture.bytes, LIMIT_FRAME_HEADER};
    ring_write(&shm_fixture.peer->out, &garbage, 1);
    assert_int_equal(look(&in), TRANSPORT_INLINE_NEEDS_PROGRESS);
    test_transport_settle(&shm_fixture.here);
    assert_int_equal(shm_fixture.here.n_lost, 1);
    assert_false(transport_can_receive_inline(shm_fixture.here.transport, 1));
}

/* ... is not what was looked for, though a turn may take it. */
static void
expect_other(void **state, const struct frame *frame)
{
    struct recv_request in = inflow_message(SMALL);

    write_frame(frame);
    assert_int_equal(look(&in), TRANSPORT_INLINE_NEEDS_PROGRESS);
    assert_int_equal(shm_fixture.got[0], 0);
    shm_fixture_close(state);
    shm_fixture_open(state);
}

static void
frame_of_another_kind_is_left(void **state)
{
    struct frame frame = frame_message(1, TAG, SMALL, SMALL);

    frame.call.dtype =
        test_transport_label.call.dtype == HOOP_INT8 ? HOOP_UINT8 : HOOP_INT8;
    expect_other(state, &frame);

    /* Asked for, and granted. */
    frame = frame_message(1, TAG, SMALL, SMALL);
    frame.flags = 0;
    expect_other(state, &frame);

    frame.flags = FRAME_EAGER | FRAME_POINT_TO_POINT;
    expect_other(state, &frame);

    frame = frame_message(1, TAG, SMALL, SMALL);
    frame.codec = CODEC_ZSTD;
    expect_other(state, &frame);

    frame = frame_message(1, TAG, SMALL, SMALL);
    frame.stored = SMALL / 2;
    frame.codec = CODEC_ZSTD;
    expect_other(state, &frame);

    frame = frame_message(1, TAG, SMALL, SMALL);
    frame.checksum = 1;
    expect_other(state, &frame);
}

static void
nothing_is_taken_past_what_came_before(void **state)
{
    struct transport *transport = shm_fixture.here.transport;
    const struct frame frame = frame_message(1, TAG, SMALL, SMALL);
    struct recv_request in = inflow_message(SMALL);

    assert_false(transport_can_receive_inline(transport, 0));
    assert_false(transport_can_receive_inline(transport, 2));
    /* Kept by a turn: it has the same tag. */
    shm_fixture_feed_frame(&frame, shm_fixture.bytes);
    assert_false(transport_can_receive_inline(transport, 1));
    transport_receive(transport, &in);
    test_transport_settle(&shm_fixture.here);
    assert_int_equal(in.arrived, SMALL);
    assert_false(transport_can_receive_inline(transport, 1));
    transport_receive_cancel(transport, &in);
    assert_true(transport_can_receive_inline(transport, 1));

    in = inflow_message(SMALL);
    in.key.peer = FLOW_ANY_PEER;
    transport_receive(transport, &in);
    assert_false(transport_can_receive_inline(transport, 1));
    transport_receive_cancel(transport, &in);
}

/* What is taken at once is given back as what a turn takes. */
static void
window_is_given_back(void **state)
{
    struct frame frame = frame_message(0, TAG, SMALL, SMALL);
    size_t n_bytes = 0;

    while (n_bytes == 0 && frame.op < LIMIT_EAGER_WINDOW / SMALL) {
        struct recv_request in = inflow_message(SMALL);

        frame.op++;
        write_frame(&frame);
        assert_int_equal(look(&in), TRANSPORT_INLINE_DONE);
        transport_flush(shm_fixture.here.transport);
        ring_peek(&shm_fixture.peer->in, &n_bytes);
    }
    assert_int_equal(n_bytes, LIMIT_FRAME_HEADER);
    assert_true(frame.op * SMALL >= LIMIT_EAGER_WINDOW / 8);
}

/* The frame that the transport wrote next. */
static struct frame
next_frame(void)
{
    struct ring_reader *ring = &shm_fixture.peer->in;
    struct frame frame = {0};
    size_t n_ahead;
    const uint8_t *bytes = ring_peek(ring, &n_ahead);

    assert_true(n_ahead >= LIMIT_FRAME_HEADER);
    assert_ok(frame_decode(bytes, &frame));
    ring_consume(ring, LIMIT_FRAME_HEADER);
    return frame;
}

static void
message_is_sent_at_once(void **state)
{
    struct send_request out = outflow_message(9, SMALL);
    size_t n_ahead;

    assert_true(send_at_once(&out));
    const struct frame frame = next_frame();
    assert_int_equal(frame.kind, FRAME_MESSAGE);
    assert_int_equal(frame.op, 9);
    assert_int_equal(frame.tag, TAG);
    assert_int_equal(frame.raw, SMALL);
    const uint8_t *payload = ring_peek(&shm_fixture.peer->in, &n_ahead);
    assert_true(n_ahead >= SMALL);
    pattern_check(payload, SMALL, 3);
}

static void
message_does_not_overtake(void **state)
{
    struct transport *transport = shm_fixture.here.transport;
    struct send_request first =
        outflow_message(1, LIMIT_EAGER_WHOLE_MESSAGE + 1);
    struct send_request second = outflow_message(2, SMALL);

    transport_send(transport, &first);
    assert_false(send_at_once(&second));
    test_transport_settle(&shm_fixture.here);
    assert_false(send_at_once(&second));
    assert_int_equal(second.framed, 0);
    transport_send_cancel(transport, &first);
}

static void
message_that_must_ask_is_not_sent_at_once(void **state)
{
    struct send_request large = outflow_message(1, LIMIT_EAGER_MESSAGE + 1);
    struct send_request far = outflow_message(1, SMALL);
    uint64_t n_sent = 0;

    assert_false(send_at_once(&large));
    far.key.peer = 2;
    assert_false(send_at_once(&far));
    /* Until the window is used up, which nobody gives back. */
    for (uint64_t op = 1; n_sent <= LIMIT_EAGER_WINDOW; op++) {
        struct send_request out = outflow_message(op, SMALL);
        size_t n_ahead;

        if (!send_at_once(&out))
            break;
        n_sent += SMALL;
        ring_peek(&shm_fixture.peer->in, &n_ahead);
        ring_consume(&shm_fixture.peer->in, n_ahead);
        ring_release(&shm_fixture.peer->in);
    }
    assert_in_range(n_sent, LIMIT_EAGER_WINDOW / 2, LIMIT_EAGER_WINDOW);
}

/* What finds no room is copied: the buffer is the caller's again. */
static void
rest_of_a_message_is_copied(void **state)
{
    struct send_request out = outflow_message(1, LIMIT_EAGER_MESSAGE);
    size_t n_done = 0;

    assert_true(transport_send_inline(shm_fixture.here.transport, &out));
    assert_true(transport_needs_progress(shm_fixture.here.transport));
    memset(shm_fixture.bytes, 0xff, sizeof(shm_fixture.bytes));
    (void)next_frame();
    for (unsigned i = 0; i < 100 && n_done < LIMIT_EAGER_MESSAGE; i++) {
        size_t n_ahead;
        const uint8_t *payload = ring_peek(&shm_fixture.peer->in, &n_ahead);

        memcpy(shm_fixture.got + n_done, payload, n_ahead);
        n_done += n_ahead;
        ring_consume(&shm_fixture.peer->in, n_ahead);
        ring_release(&shm_fixture.peer->in);
        test_transport_settle(&shm_fixture.here);
    }
    assert_int_equal(n_done, LIMIT_EAGER_MESSAGE);
    pattern_check(shm_fixture.got, LIMIT_EAGER_MESSAGE, 3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SHM_FIXTURE_TEST(message_is_taken_where_it_lies),
        SHM_FIXTURE_TEST(message_of_no_bytes_is_taken),
        SHM_FIXTURE_TEST(half_a_message_is_waited_for),
        SHM_FIXTURE_TEST(what_is_not_looked_for_is_left),
        SHM_FIXTURE_TEST(large_message_is_left),
        SHM_FIXTURE_TEST(what_the_peer_may_not_send_is_left_to_a_turn),
        SHM_FIXTURE_TEST(frame_of_another_kind_is_left),
        SHM_FIXTURE_TEST(nothing_is_taken_past_what_came_before),
        SHM_FIXTURE_TEST(window_is_given_back),
        SHM_FIXTURE_TEST(message_is_sent_at_once),
        SHM_FIXTURE_TEST(message_does_not_overtake),
        SHM_FIXTURE_TEST(message_that_must_ask_is_not_sent_at_once),
        SHM_FIXTURE_TEST(rest_of_a_message_is_copied),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
