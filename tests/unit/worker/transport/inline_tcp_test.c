/*
 * tests/unit/worker/transport/inline_tcp_test.c - transport/inline.c over a
 * socket
 *
 * Blocks of a collective. What is not taken at once must be what a turn takes,
 * as if nobody had looked; and a peer gets every byte once, however few of them
 * its socket takes at a time.
 */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "check.h"
#include "tcp_fixture.h"
#include "transport/stream/stream_group.h"

enum {
    SMALL = 24,
    FRAME = LIMIT_FRAME_HEADER + LIMIT_FRAME_PAD,
};

/* The next send() takes so many bytes, those after it none. */
static size_t send_limit = SIZE_MAX;

ssize_t
__real_send(int fd, const void *bytes, size_t n_bytes, int flags);
ssize_t
__wrap_send(int fd, const void *bytes, size_t n_bytes, int flags);

ssize_t
__wrap_send(int fd, const void *bytes, size_t n_bytes, int flags)
{
    const size_t n_taken = n_bytes < send_limit ? n_bytes : send_limit;

    if (send_limit == SIZE_MAX)
        return __real_send(fd, bytes, n_bytes, flags);
    send_limit = 0;
    if (n_taken > 0)
        return __real_send(fd, bytes, n_taken, flags);
    errno = EAGAIN;
    return -1;
}

/* The library gets no memory. */
static bool is_out_of_memory;

void *
__real_malloc(size_t n_bytes);
void *
__wrap_malloc(size_t n_bytes);

void *
__wrap_malloc(size_t n_bytes)
{
    return is_out_of_memory ? NULL : __real_malloc(n_bytes);
}

static struct transport *
here(void)
{
    return tcp_fixture.test_transport.transport;
}

/* To the socket, without a turn: bytes of the frame from first on. */
static void
write_part(const struct frame *frame, size_t first, size_t end)
{
    static uint8_t stream[LIMIT_FRAME_HEADER + 2048];
    const size_t n_frame = frame_bytes(frame, tcp_fixture.bytes, stream);
    const size_t n_part = (end < n_frame ? end : n_frame) - first;

    assert_int_equal(
        write(tcp_fixture.test_transport.raw[1], stream + first, n_part),
        n_part);
}

static struct recv_request
receive_request(void)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, SMALL);

    flow.owner = NULL;
    return flow;
}

static enum transport_inline_result
receive_at_once(void)
{
    struct recv_request flow = receive_request();

    return transport_receive_inline(here(), &flow);
}

static void
assert_received(void)
{
    assert_memory_equal(tcp_fixture.received, tcp_fixture.bytes, SMALL);
    assert_untouched(SMALL);
    memset(tcp_fixture.received, TCP_FIXTURE_GUARD, SMALL);
}

/* An ordinary receive finds what is there, and what comes. */
static void
assert_ordinary_receive_completes(void)
{
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, SMALL);

    transport_receive(here(), &flow);
    test_transport_settle(&tcp_fixture.test_transport);
    assert_int_equal(flow.arrived, SMALL);
    transport_receive_cancel(here(), &flow);
    assert_received();
}

static void
block_is_taken_wherever_it_is_cut(void **state)
{
    const struct frame frame = tcp_fixture_eager_frame(0, SMALL, SMALL);

    test_transport_settle(&tcp_fixture.test_transport);
    assert_int_equal(receive_at_once(), TRANSPORT_INLINE_NOT_ARRIVED);
    for (size_t cut = 0; cut < FRAME; cut++) {
        write_part(&frame, 0, cut);
        assert_int_equal(receive_at_once(), TRANSPORT_INLINE_NOT_ARRIVED);
        assert_untouched(0);
        write_part(&frame, cut, FRAME);
        assert_int_equal(receive_at_once(), TRANSPORT_INLINE_DONE);
        assert_received();
    }
    assert_int_equal(receive_at_once(), TRANSPORT_INLINE_NOT_ARRIVED);
    assert_int_equal(tcp_fixture.test_transport.n_unexpected, 0);
}

static void
ordinary_receive_goes_on_wherever_it_was_cut(void **state)
{
    const struct frame frame = tcp_fixture_eager_frame(0, SMALL, SMALL);

    test_transport_settle(&tcp_fixture.test_transport);
    for (size_t cut = 0; cut < FRAME; cut++) {
        write_part(&frame, 0, cut);
        assert_int_equal(receive_at_once(), TRANSPORT_INLINE_NOT_ARRIVED);
        write_part(&frame, cut, FRAME);
        assert_ordinary_receive_completes();
    }
    assert_int_equal(tcp_fixture.test_transport.n_unexpected, 0);
}

/* No more is read than the block has: the poller still sees what is behind. */
static void
what_comes_behind_is_left_in_the_socket(void **state)
{
    struct frame frame = tcp_fixture_eager_frame(0, SMALL, SMALL);

    test_transport_settle(&tcp_fixture.test_transport);
    write_part(&frame, 0, FRAME);
    frame.op++;
    write_part(&frame, 0, FRAME);
    assert_int_equal(receive_at_once(), TRANSPORT_INLINE_DONE);
    assert_received();
    assert_int_equal(transport_progress(here(), 0), true);
    assert_int_equal(tcp_fixture.test_transport.n_unexpected, 1);
    assert_int_equal(tcp_fixture.test_transport.frame.op, frame.op);
}

/* ... in any of its fields: nothing of it is used, and a turn finds it. */
static void
assert_left_to_a_turn(const struct frame *other, bool is_of_same_block)
{
    const struct frame wanted = tcp_fixture_eager_frame(0, SMALL, SMALL);
    struct test_transport *transport = &tcp_fixture.test_transport;

    assert_int_equal(tcp_fixture_open(NULL), 0);
    test_transport_settle(transport);
    write_part(other, 0, FRAME);
    assert_int_equal(receive_at_once(), TRANSPORT_INLINE_NEEDS_PROGRESS);
    /* Nor is it overtaken. */
    write_part(&wanted, 0, FRAME);
    assert_int_equal(receive_at_once(), TRANSPORT_INLINE_NEEDS_PROGRESS);
    assert_untouched(0);
    assert_int_equal(transport->n_unexpected, 0);
    if (is_of_same_block) {
        struct recv_request flow =
            recv_request_collective(1, tcp_fixture.received, SMALL);

        transport_receive(here(), &flow);
        test_transport_settle(transport);
        assert_int_equal(transport->n_mismatches + transport->n_size_mismatches,
                         1);
        transport_receive_cancel(here(), &flow);
    } else {
        assert_ordinary_receive_completes();
    }
    tcp_fixture_close(NULL);
}

static void
other_frame_is_left_to_a_turn(void **state)
{
    const struct frame wanted = tcp_fixture_eager_frame(0, SMALL, SMALL);
    struct frame other = wanted;

    other.op++;
    assert_left_to_a_turn(&other, false);
    other = wanted;
    other.step++;
    assert_left_to_a_turn(&other, false);
    other = wanted;
    other.comm++;
    assert_left_to_a_turn(&other, false);
    other = wanted;
    other.epoch++;
    assert_left_to_a_turn(&other, false);
    other = wanted;
    other.kind = FRAME_MESSAGE;
    assert_left_to_a_turn(&other, false);
    other = (struct frame){.kind = FRAME_HEARTBEAT, .epoch = wanted.epoch};
    assert_left_to_a_turn(&other, false);
    other = wanted;
    other.signature++;
    assert_left_to_a_turn(&other, true);
    other = wanted;
    other.total = 2 * SMALL;
    assert_left_to_a_turn(&other, true);
}

/* No poller tells of what has been read already. */
static void
frame_that_was_read_and_left_is_found_by_a_turn(void **state)
{
    struct frame other = tcp_fixture_eager_frame(0, SMALL, SMALL);

    test_transport_settle(&tcp_fixture.test_transport);
    other.op++;
    write_part(&other, 0, FRAME);
    assert_int_equal(receive_at_once(), TRANSPORT_INLINE_NEEDS_PROGRESS);
    assert_int_equal(tcp_fixture.test_transport.n_unexpected, 0);
    assert_true(transport_progress(here(), 0));
    assert_int_equal(tcp_fixture.test_transport.n_unexpected, 1);
    assert_int_equal(tcp_fixture.test_transport.frame.op, other.op);
}

/* What was read behind it is a mark and the next frame: the turn finds both,
 * though the socket is empty. */
static void
frame_that_begins_streams_is_found_with_what_is_behind(void **state)
{
    static const uint8_t mark[STREAM_GROUP_MARK_BYTES] = {0, 0, 0, 0,
                                                          LIMIT_FRAME_HEADER};
    const struct frame striped = {
        .kind = FRAME_STRIPED, .epoch = TEST_TRANSPORT_EPOCH, .total = 1};
    const struct frame goodbye = {.kind = FRAME_GOODBYE,
                                  .epoch = TEST_TRANSPORT_EPOCH};
    struct recv_request flow =
        recv_request_collective(1, tcp_fixture.received, 512);
    uint8_t bytes[2 * LIMIT_FRAME_HEADER + STREAM_GROUP_MARK_BYTES];

    test_transport_settle(&tcp_fixture.test_transport);
    frame_encode(&striped, bytes);
    memcpy(bytes + LIMIT_FRAME_HEADER, mark, sizeof(mark));
    frame_encode(&goodbye, bytes + LIMIT_FRAME_HEADER + sizeof(mark));
    assert_int_equal(
        write(tcp_fixture.test_transport.raw[1], bytes, sizeof(bytes)),
        sizeof(bytes));
    assert_int_equal(transport_receive_inline(here(), &flow),
                     TRANSPORT_INLINE_NEEDS_PROGRESS);
    assert_true(transport_needs_progress(here()));
    test_transport_settle(&tcp_fixture.test_transport);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
    assert_int_equal(tcp_fixture.test_transport.n_left, 1);
}

static void
end_of_the_stream_is_reported(void **state)
{
    test_transport_settle(&tcp_fixture.test_transport);
    test_transport_hang_up(&tcp_fixture.test_transport, 1);
    assert_int_equal(receive_at_once(), TRANSPORT_INLINE_NEEDS_PROGRESS);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 1);
    assert_string_equal(tcp_fixture.test_transport.text, "connection reset");
}

static bool
send_at_once(const uint8_t *bytes, uint64_t op, bool *out_has_unsent)
{
    struct send_request flow = send_request_collective(1, bytes, SMALL);

    flow.key.op = op;
    flow.owner = NULL;
    const bool is_sent = transport_send_inline(here(), &flow);

    *out_has_unsent = is_sent && transport_needs_progress(here());
    return is_sent;
}

static bool
has_unused_blocks(uint64_t op)
{
    return transport_has_unused_blocks(
        here(), &(struct flow_key){.comm = TEST_TRANSPORT_COMM, .op = op});
}

/* What has come early is taken first. */
static void
block_that_came_early_is_taken(void **state)
{
    struct frame frame = tcp_fixture_eager_frame(0, SMALL, SMALL);
    bool has_unsent = false;

    for (unsigned i = 0; i < 3; i++) {
        tcp_fixture_feed(&frame);
        assert_int_equal(tcp_fixture.test_transport.n_unexpected, i + 1);
        assert_true(has_unused_blocks(frame.op));
        assert_true(send_at_once(tcp_fixture.bytes, frame.op, &has_unsent));
        assert_int_equal(receive_at_once(), TRANSPORT_INLINE_DONE);
        assert_received();
        assert_false(has_unused_blocks(frame.op));
        assert_int_equal(receive_at_once(), TRANSPORT_INLINE_NOT_ARRIVED);
    }
    /* Of another operation in the same list, or of another step, it is not. */
    frame.op += 256;
    tcp_fixture_feed(&frame);
    assert_false(has_unused_blocks(frame.op - 256));
    frame.op -= 256;
    frame.step++;
    tcp_fixture_feed(&frame);
    assert_int_equal(receive_at_once(), TRANSPORT_INLINE_NOT_ARRIVED);
    assert_true(has_unused_blocks(frame.op));
    frame.step--;
    write_part(&frame, 0, FRAME);
    assert_int_equal(receive_at_once(), TRANSPORT_INLINE_DONE);
    assert_received();
}

/* It may be another call's, or only a part. */
static void
nothing_is_sent_or_taken_past_another_call_that_came_early(void **state)
{
    struct frame frame = tcp_fixture_eager_frame(0, SMALL, SMALL);
    const struct frame wanted = frame;
    bool has_unsent = false;

    frame.step++;
    frame.signature++;
    tcp_fixture_feed(&frame);
    write_part(&wanted, 0, FRAME);
    assert_int_equal(receive_at_once(), TRANSPORT_INLINE_NEEDS_PROGRESS);
    assert_false(send_at_once(tcp_fixture.bytes, frame.op, &has_unsent));
    assert_true(send_at_once(tcp_fixture.bytes, frame.op + 1, &has_unsent));
    assert_false(has_unsent);
    assert_untouched(0);
}

static void
part_that_came_early_is_left_to_an_operation(void **state)
{
    const struct frame frame = tcp_fixture_eager_frame(0, SMALL, 2 * SMALL);

    tcp_fixture_feed(&frame);
    assert_int_equal(receive_at_once(), TRANSPORT_INLINE_NEEDS_PROGRESS);
    assert_untouched(0);
}

/* The buffer is another's as soon as the call has returned. */
static void
block_is_sent_however_little_the_socket_takes(void **state)
{
    uint8_t block[SMALL];

    test_transport_settle(&tcp_fixture.test_transport);
    for (size_t n_taken = 0; n_taken <= FRAME; n_taken++) {
        const uint64_t op = 200 + n_taken;
        bool has_unsent = false;

        pattern_fill(block, SMALL, (unsigned)n_taken);
        send_limit = n_taken;
        assert_true(send_at_once(block, op, &has_unsent));
        assert_int_equal(has_unsent, n_taken < FRAME);
        memset(block, 0, sizeof(block));
        /* Behind it, in order. */
        assert_int_equal(send_at_once(block, op + 1, &has_unsent),
                         n_taken == FRAME);
        send_limit = SIZE_MAX;
        test_transport_settle(&tcp_fixture.test_transport);
        assert_true(tcp_fixture_next_frame());
        assert_int_equal(tcp_fixture.frame.op, op);
        assert_int_equal(tcp_fixture.frame.flags, FRAME_EAGER);
        assert_int_equal(tcp_fixture.frame.total, SMALL);
        pattern_check(tcp_fixture.payload, SMALL, (unsigned)n_taken);
        while (tcp_fixture_next_frame())
            assert_int_equal(tcp_fixture.frame.op, op + 1);
    }
}

/* Room for the rest of a frame is had before its first byte is sent. */
static void
rest_of_a_block_needs_no_memory(void **state)
{
    bool has_unsent = false;

    test_transport_settle(&tcp_fixture.test_transport);
    assert_true(send_at_once(tcp_fixture.bytes, 200, &has_unsent));
    assert_false(has_unsent);
    assert_true(tcp_fixture_next_frame());
    is_out_of_memory = true;
    send_limit = 100;
    assert_true(send_at_once(tcp_fixture.bytes, 201, &has_unsent));
    assert_true(has_unsent);
    is_out_of_memory = false;
    send_limit = SIZE_MAX;
    test_transport_settle(&tcp_fixture.test_transport);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
    assert_true(tcp_fixture_next_frame());
    assert_int_equal(tcp_fixture.frame.op, 201);
    assert_memory_equal(tcp_fixture.payload, tcp_fixture.bytes, SMALL);
}

/* Without that room the frame is sent from the caller's buffer, and there is no
 * memory for a copy of what the socket does not take. */
static void
block_is_not_sent_if_its_peer_is_lost(void **state)
{
    bool has_unsent = false;

    test_transport_settle(&tcp_fixture.test_transport);
    send_limit = 0;
    is_out_of_memory = true;
    assert_false(send_at_once(tcp_fixture.bytes, 200, &has_unsent));
    is_out_of_memory = false;
    send_limit = SIZE_MAX;
    assert_int_equal(tcp_fixture.test_transport.n_lost, 1);
    assert_false(has_unsent);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TCP_FIXTURE_TEST(block_is_taken_wherever_it_is_cut),
        TCP_FIXTURE_TEST(ordinary_receive_goes_on_wherever_it_was_cut),
        TCP_FIXTURE_TEST(what_comes_behind_is_left_in_the_socket),
        cmocka_unit_test(other_frame_is_left_to_a_turn),
        TCP_FIXTURE_TEST(frame_that_was_read_and_left_is_found_by_a_turn),
        TCP_FIXTURE_TEST(
            frame_that_begins_streams_is_found_with_what_is_behind),
        TCP_FIXTURE_TEST(end_of_the_stream_is_reported),
        TCP_FIXTURE_TEST(block_that_came_early_is_taken),
        TCP_FIXTURE_TEST(
            nothing_is_sent_or_taken_past_another_call_that_came_early),
        TCP_FIXTURE_TEST(part_that_came_early_is_left_to_an_operation),
        TCP_FIXTURE_TEST(block_is_sent_however_little_the_socket_takes),
        TCP_FIXTURE_TEST(rest_of_a_block_needs_no_memory),
        TCP_FIXTURE_TEST(block_is_not_sent_if_its_peer_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
