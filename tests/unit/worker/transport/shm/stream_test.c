/*
 * tests/unit/worker/transport/shm/stream_test.c - transport/shm/stream.c
 *
 * One side is a station, the other this test, with its end of the segment and
 * of the connection in hand. What two stations do to each other is tested by
 * the other tests here with HOOP_TRANSPORT=auto.
 */

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "check.h"
#include "unit/worker/transport/ringside.h"

enum {
    SMALL = RINGSIDE_SMALL,
    LARGE = RINGSIDE_LARGE,
};

static unsigned
bells_heard(void)
{
    uint8_t rung[8];
    const ssize_t n = recv(ringside.fd, rung, sizeof(rung), 0);

    return n > 0 ? (unsigned)n : 0;
}

static void
message_is_placed_from_the_ring(void **state)
{
    struct recv_request in = recv_request_collective(1, ringside.got, LARGE);
    const struct frame frame = frame_collective(0, LARGE, LARGE);

    (void)state;
    transport_receive(ringside.here.transport, &in);
    ringside_feed_frame(&frame, ringside.bytes);
    assert_int_equal(in.arrived, LARGE);
    pattern_check(ringside.got, LARGE, 3);
}

/* Elements that do not divide the ring's steps are handed on whole, too. */
static void
pieces_are_handed_on_in_whole_elements(void **state)
{
    static const size_t sizes[] = {1, 8, 16, 40, 100};

    for (size_t i = 0; i < 5; i++) {
        const size_t total = LARGE / sizes[i] * sizes[i];
        struct sink sink = {.bytes = ringside.got};
        struct recv_request in = recv_request_collective(1, NULL, total);
        const struct frame frame = frame_collective(0, (uint32_t)total, total);

        in.element_size = sizes[i];
        in.owner = &sink;
        transport_receive(ringside.here.transport, &in);
        ringside_feed_frame(&frame, ringside.bytes);
        assert_int_equal(sink.n_bytes, total);
        assert_true(sink.n_pieces > 1);
        pattern_check(ringside.got, total, 3);
        ringside_close(state);
        ringside_open(state);
    }
}

static void
message_that_comes_early_is_kept(void **state)
{
    struct recv_request in = recv_request_collective(1, ringside.got, SMALL);
    struct frame frame = frame_collective(0, SMALL, SMALL);

    (void)state;
    frame.flags = FRAME_EAGER;
    ringside_feed_frame(&frame, ringside.bytes);
    transport_receive(ringside.here.transport, &in);
    station_settle(&ringside.here);
    assert_int_equal(in.arrived, SMALL);
    pattern_check(ringside.got, SMALL, 3);
}

static void
ring_that_is_full_is_written_on_when_it_is_read(void **state)
{
    struct send_request out = send_request_collective(1, ringside.bytes, LARGE);
    size_t n_total = 0;
    size_t n_bytes;

    (void)state;
    transport_send(ringside.here.transport, &out);
    out.granted = LARGE;
    station_settle(&ringside.here);
    assert_true(out.handed < LARGE);
    for (unsigned n_turns = 0; n_turns < 1000 && out.handed < LARGE;
         n_turns++) {
        ring_peek(&ringside.peer->in, &n_bytes);
        ring_consume(&ringside.peer->in, n_bytes);
        ring_release(&ringside.peer->in);
        n_total += n_bytes;
        transport_progress(ringside.here.transport, 0);
    }
    assert_int_equal(out.handed, LARGE);
    assert_true(n_total > LARGE - LIMIT_RING_MIN);
}

static void
reader_is_rung_only_when_it_sleeps(void **state)
{
    struct send_request first =
        send_request_collective(1, ringside.bytes, SMALL);
    struct send_request second =
        send_request_collective(1, ringside.bytes, SMALL);
    size_t n_bytes;

    (void)state;
    transport_send(ringside.here.transport, &first);
    station_settle(&ringside.here);
    assert_int_equal(bells_heard(), 0);
    ring_peek(&ringside.peer->in, &n_bytes);
    assert_true(ring_reader_prepare_sleep(&ringside.peer->in));
    second.key.step++;
    transport_send(ringside.here.transport, &second);
    station_settle(&ringside.here);
    assert_int_equal(second.handed, SMALL);
    assert_int_equal(bells_heard(), 1);
}

static void *
write_soon(void *owner)
{
    const struct frame frame = frame_collective(0, SMALL, SMALL);
    static uint8_t stream[LIMIT_FRAME_HEADER + SMALL + LIMIT_FRAME_PAD];
    const struct iovec span = {stream,
                               frame_bytes(&frame, ringside.bytes, stream)};
    unsigned *n_rings = owner;

    /* Until it sleeps: then it asks to be rung. */
    while (!atomic_load(&ringside.peer->out.control->reader_sleeps))
        sched_yield();
    ring_write(&ringside.peer->out, &span, 1);
    while (ring_must_wake_reader(&ringside.peer->out)) {
        *n_rings += 1;
        assert_int_equal(send(ringside.fd, "!", 1, MSG_NOSIGNAL), 1);
    }
    return NULL;
}

static void
turn_that_sleeps_is_woken_by_the_bell(void **state)
{
    struct recv_request in = recv_request_collective(1, ringside.got, SMALL);
    pthread_t thread;
    unsigned n_rings = 0;

    (void)state;
    transport_receive(ringside.here.transport, &in);
    station_settle(&ringside.here);
    while (bells_heard() > 0)
        ;
    assert_int_equal(pthread_create(&thread, NULL, write_soon, &n_rings), 0);
    assert_true(transport_progress(ringside.here.transport, 20000));
    pthread_join(thread, NULL);
    assert_int_equal(n_rings, 1);
    station_settle(&ringside.here);
    assert_int_equal(in.arrived, SMALL);
    assert_false(atomic_load(&ringside.peer->out.control->reader_sleeps));
}

static void
peer_that_dies_is_lost_after_what_it_wrote(void **state)
{
    struct recv_request in = recv_request_collective(1, ringside.got, SMALL);
    const struct frame frame = frame_collective(0, SMALL, SMALL);
    uint8_t stream[LIMIT_FRAME_HEADER + SMALL + LIMIT_FRAME_PAD];
    const struct iovec span = {stream,
                               frame_bytes(&frame, ringside.bytes, stream)};

    (void)state;
    transport_receive(ringside.here.transport, &in);
    assert_int_equal(ring_write(&ringside.peer->out, &span, 1), span.iov_len);
    close(ringside.fd);
    ringside.fd = -1;
    station_settle(&ringside.here);
    assert_int_equal(in.arrived, SMALL);
    pattern_check(ringside.got, SMALL, 3);
    assert_int_equal(ringside.here.n_lost, 1);
    assert_non_null(strstr(ringside.here.text, "connection reset"));
}

static void
peer_that_dies_amid_a_frame_is_lost(void **state)
{
    const struct frame frame = frame_collective(0, SMALL, SMALL);
    uint8_t stream[LIMIT_FRAME_HEADER + SMALL + LIMIT_FRAME_PAD];
    struct recv_request in = recv_request_collective(1, ringside.got, SMALL);

    (void)state;
    transport_receive(ringside.here.transport, &in);
    frame_bytes(&frame, ringside.bytes, stream);
    ringside_feed(stream, LIMIT_FRAME_HEADER + RING_STEP);
    ring_mark_end(&ringside.peer->out);
    close(ringside.fd);
    ringside.fd = -1;
    station_settle(&ringside.here);
    assert_int_equal(ringside.here.n_lost, 1);
    assert_int_equal(in.arrived, RING_STEP);
}

static void
peer_that_leaves_is_no_loss(void **state)
{
    const struct frame goodbye = {.kind = FRAME_GOODBYE,
                                  .epoch = STATION_EPOCH};

    (void)state;
    ringside_feed_frame(&goodbye, NULL);
    assert_int_equal(ringside.here.n_left, 1);
    ring_mark_end(&ringside.peer->out);
    station_settle(&ringside.here);
    transport_start_shutdown(ringside.here.transport);
    station_settle(&ringside.here);
    assert_true(transport_is_shut_down(ringside.here.transport));
    assert_true(transport_is_disconnected(ringside.here.transport, 1));
    assert_true(ring_has_ended(&ringside.peer->in));
    assert_int_equal(ringside.here.n_lost, 0);
}

static void
counts_that_cannot_be_lose_the_peer(void **state)
{
    struct send_request out = send_request_collective(1, ringside.bytes, LARGE);

    atomic_store(&ringside.peer->out.control->written, 1ull << 40);
    station_settle(&ringside.here);
    assert_int_equal(ringside.here.n_lost, 1);
    assert_non_null(strstr(ringside.here.text, "broken"));
    ringside_close(state);
    ringside_open(state);
    atomic_store(&ringside.peer->in.control->read, 1ull << 40);
    transport_send(ringside.here.transport, &out);
    out.granted = LARGE;
    for (unsigned i = 0; i < 100 && ringside.here.n_lost == 0; i++)
        transport_progress(ringside.here.transport, 0);
    assert_int_equal(ringside.here.n_lost, 1);
}

static void
garbage_loses_the_peer(void **state)
{
    (void)state;
    ringside_feed(ringside.bytes, LARGE / RING_STEP * RING_STEP);
    assert_int_equal(ringside.here.n_lost, 1);
    /* Its memory is gone, and nothing touches it any more. */
    station_settle(&ringside.here);
    assert_int_equal(ringside.here.n_lost, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        RINGSIDE_TEST(message_is_placed_from_the_ring),
        RINGSIDE_TEST(pieces_are_handed_on_in_whole_elements),
        RINGSIDE_TEST(message_that_comes_early_is_kept),
        RINGSIDE_TEST(ring_that_is_full_is_written_on_when_it_is_read),
        RINGSIDE_TEST(reader_is_rung_only_when_it_sleeps),
        RINGSIDE_TEST(turn_that_sleeps_is_woken_by_the_bell),
        RINGSIDE_TEST(peer_that_dies_is_lost_after_what_it_wrote),
        RINGSIDE_TEST(peer_that_dies_amid_a_frame_is_lost),
        RINGSIDE_TEST(peer_that_leaves_is_no_loss),
        RINGSIDE_TEST(counts_that_cannot_be_lose_the_peer),
        RINGSIDE_TEST(garbage_loses_the_peer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
