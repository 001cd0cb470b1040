/*
 * tests/unit/worker/transport/shm_stream_test.c - transport/shm_stream.c
 *
 * One side is a station, the other this test, with its end of the segment and
 * of the connection in hand. What two stations do to each other is tested by
 * the other tests here with HOOP_TRANSPORT=auto.
 */

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "check.h"
#include "station.h"
#include "transport/segment.h"

enum {
    SMALL = 1000,
    LARGE = 200000,
};

static struct station here; /* rank 0 */
static struct segment *peer;
static int fd; /* the peer's end of the connection */
static uint8_t bytes[LARGE];
static uint8_t got[LARGE];

static int
sides_open(void **state)
{
    struct memory_place place;
    struct segment *own;
    int fds[2];

    (void)state;
    station_open(&here, 0, CODEC_NONE);
    assert_int_equal(segment_create(LIMIT_RING_MIN, &place, &own), HOOP_OK);
    assert_int_equal(segment_open(&place, &peer), HOOP_OK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds),
                     0);
    transport_shared(here.transport, 1, fds[0], own);
    fd = fds[1];
    pattern_fill(bytes, sizeof(bytes), 3);
    memset(got, 0, sizeof(got));
    return 0;
}

static int
sides_close(void **state)
{
    (void)state;
    station_close(&here);
    segment_destroy(peer);
    if (fd >= 0)
        close(fd);
    return 0;
}

/* Through the ring, while the station takes turns. */
static void
feed(const uint8_t *stream, size_t n_bytes)
{
    size_t n_done = 0;

    while (n_done < n_bytes && here.n_lost == 0) {
        const struct iovec span = {(void *)(uintptr_t)(stream + n_done),
                                   n_bytes - n_done};

        n_done += ring_write(&peer->out, &span, 1);
        transport_turn(here.transport, 0);
    }
}

static void
feed_frame(const struct frame *frame, const uint8_t *payload)
{
    uint8_t *stream = malloc(LIMIT_FRAME_HEADER + LIMIT_FRAME_PAYLOAD);

    assert_non_null(stream);
    feed(stream, frame_bytes(frame, payload, stream));
    free(stream);
}

static unsigned
bells_heard(void)
{
    uint8_t rung[8];
    const ssize_t n = recv(fd, rung, sizeof(rung), 0);

    return n > 0 ? (unsigned)n : 0;
}

static void
message_is_placed_from_the_ring(void **state)
{
    struct inflow in = inflow_collective(1, got, LARGE);
    const struct frame frame = frame_collective(0, LARGE, LARGE);

    (void)state;
    transport_receive(here.transport, &in);
    feed_frame(&frame, bytes);
    assert_int_equal(in.arrived, LARGE);
    pattern_check(got, LARGE, 3);
}

/* Elements that do not divide the ring's steps are handed on whole, too. */
static void
pieces_are_handed_on_in_whole_elements(void **state)
{
    static const size_t sizes[] = {1, 8, 16, 40, 100};

    for (size_t i = 0; i < 5; i++) {
        const size_t total = LARGE / sizes[i] * sizes[i];
        struct sink sink = {.bytes = got};
        struct inflow in = inflow_collective(1, NULL, total);
        const struct frame frame = frame_collective(0, (uint32_t)total, total);

        in.element_size = sizes[i];
        in.owner = &sink;
        transport_receive(here.transport, &in);
        feed_frame(&frame, bytes);
        assert_int_equal(sink.n_bytes, total);
        assert_true(sink.n_pieces > 1);
        pattern_check(got, total, 3);
        sides_close(state);
        sides_open(state);
    }
}

static void
message_that_comes_early_is_kept(void **state)
{
    struct inflow in = inflow_collective(1, got, SMALL);
    struct frame frame = frame_collective(0, SMALL, SMALL);

    (void)state;
    frame.flags = FRAME_EAGER;
    feed_frame(&frame, bytes);
    transport_receive(here.transport, &in);
    station_settle(&here);
    assert_int_equal(in.arrived, SMALL);
    pattern_check(got, SMALL, 3);
}

static void
ring_that_is_full_is_written_on_when_it_is_read(void **state)
{
    struct outflow out = outflow_collective(1, bytes, LARGE);
    size_t n_total = 0;
    size_t n_bytes;

    (void)state;
    transport_send(here.transport, &out);
    out.granted = LARGE;
    station_settle(&here);
    assert_true(out.handed < LARGE);
    for (unsigned n_turns = 0; n_turns < 1000 && out.handed < LARGE;
         n_turns++) {
        ring_peek(&peer->in, &n_bytes);
        ring_take(&peer->in, n_bytes);
        ring_tell(&peer->in);
        n_total += n_bytes;
        transport_turn(here.transport, 0);
    }
    assert_int_equal(out.handed, LARGE);
    assert_true(n_total > LARGE - LIMIT_RING_MIN);
}

static void
reader_is_rung_only_when_it_sleeps(void **state)
{
    struct outflow first = outflow_collective(1, bytes, SMALL);
    struct outflow second = outflow_collective(1, bytes, SMALL);
    size_t n_bytes;

    (void)state;
    transport_send(here.transport, &first);
    station_settle(&here);
    assert_int_equal(bells_heard(), 0);
    ring_peek(&peer->in, &n_bytes);
    assert_true(ring_reader_may_sleep(&peer->in));
    second.key.step++;
    transport_send(here.transport, &second);
    station_settle(&here);
    assert_int_equal(second.handed, SMALL);
    assert_int_equal(bells_heard(), 1);
}

static void *
write_soon(void *owner)
{
    const struct frame frame = frame_collective(0, SMALL, SMALL);
    static uint8_t stream[LIMIT_FRAME_HEADER + SMALL + LIMIT_FRAME_PAD];
    const struct iovec span = {stream, frame_bytes(&frame, bytes, stream)};
    unsigned *n_rings = owner;

    /* Until it sleeps: then it asks to be rung. */
    while (!atomic_load(&peer->out.control->reader_sleeps))
        usleep(100);
    ring_write(&peer->out, &span, 1);
    while (ring_must_wake_reader(&peer->out)) {
        *n_rings += 1;
        assert_int_equal(send(fd, "!", 1, MSG_NOSIGNAL), 1);
    }
    return NULL;
}

static void
turn_that_sleeps_is_woken_by_the_bell(void **state)
{
    struct inflow in = inflow_collective(1, got, SMALL);
    pthread_t thread;
    unsigned n_rings = 0;

    (void)state;
    transport_receive(here.transport, &in);
    station_settle(&here);
    while (bells_heard() > 0)
        ;
    assert_int_equal(pthread_create(&thread, NULL, write_soon, &n_rings), 0);
    assert_true(transport_turn(here.transport, 20000));
    pthread_join(thread, NULL);
    assert_int_equal(n_rings, 1);
    station_settle(&here);
    assert_int_equal(in.arrived, SMALL);
    assert_false(atomic_load(&peer->out.control->reader_sleeps));
}

static void
peer_that_dies_is_lost_after_what_it_wrote(void **state)
{
    struct inflow in = inflow_collective(1, got, SMALL);
    const struct frame frame = frame_collective(0, SMALL, SMALL);
    uint8_t stream[LIMIT_FRAME_HEADER + SMALL + LIMIT_FRAME_PAD];
    const struct iovec span = {stream, frame_bytes(&frame, bytes, stream)};

    (void)state;
    transport_receive(here.transport, &in);
    assert_int_equal(ring_write(&peer->out, &span, 1), span.iov_len);
    close(fd);
    fd = -1;
    station_settle(&here);
    assert_int_equal(in.arrived, SMALL);
    pattern_check(got, SMALL, 3);
    assert_int_equal(here.n_lost, 1);
    assert_non_null(strstr(here.text, "connection reset"));
}

static void
peer_that_dies_amid_a_frame_is_lost(void **state)
{
    const struct frame frame = frame_collective(0, SMALL, SMALL);
    uint8_t stream[LIMIT_FRAME_HEADER + SMALL + LIMIT_FRAME_PAD];
    struct inflow in = inflow_collective(1, got, SMALL);

    (void)state;
    transport_receive(here.transport, &in);
    frame_bytes(&frame, bytes, stream);
    feed(stream, LIMIT_FRAME_HEADER + RING_STEP);
    ring_end(&peer->out);
    close(fd);
    fd = -1;
    station_settle(&here);
    assert_int_equal(here.n_lost, 1);
    assert_int_equal(in.arrived, RING_STEP);
}

static void
peer_that_leaves_is_no_loss(void **state)
{
    const struct frame goodbye = {.kind = FRAME_GOODBYE,
                                  .epoch = STATION_EPOCH};

    (void)state;
    feed_frame(&goodbye, NULL);
    assert_int_equal(here.n_left, 1);
    ring_end(&peer->out);
    station_settle(&here);
    transport_leave(here.transport);
    station_settle(&here);
    assert_true(transport_has_left(here.transport));
    assert_true(transport_is_gone(here.transport, 1));
    assert_true(ring_has_ended(&peer->in));
    assert_int_equal(here.n_lost, 0);
}

static void
counts_that_cannot_be_lose_the_peer(void **state)
{
    struct outflow out = outflow_collective(1, bytes, LARGE);

    atomic_store(&peer->out.control->written, 1ull << 40);
    station_settle(&here);
    assert_int_equal(here.n_lost, 1);
    assert_non_null(strstr(here.text, "broken"));
    sides_close(state);
    sides_open(state);
    atomic_store(&peer->in.control->read, 1ull << 40);
    transport_send(here.transport, &out);
    out.granted = LARGE;
    for (unsigned i = 0; i < 100 && here.n_lost == 0; i++)
        transport_turn(here.transport, 0);
    assert_int_equal(here.n_lost, 1);
}

static void
garbage_loses_the_peer(void **state)
{
    (void)state;
    feed(bytes, LARGE / RING_STEP * RING_STEP);
    assert_int_equal(here.n_lost, 1);
    /* Its memory is gone, and nothing touches it any more. */
    station_settle(&here);
    assert_int_equal(here.n_lost, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(message_is_placed_from_the_ring,
                                        sides_open, sides_close),
        cmocka_unit_test_setup_teardown(pieces_are_handed_on_in_whole_elements,
                                        sides_open, sides_close),
        cmocka_unit_test_setup_teardown(message_that_comes_early_is_kept,
                                        sides_open, sides_close),
        cmocka_unit_test_setup_teardown(
            ring_that_is_full_is_written_on_when_it_is_read, sides_open,
            sides_close),
        cmocka_unit_test_setup_teardown(reader_is_rung_only_when_it_sleeps,
                                        sides_open, sides_close),
        cmocka_unit_test_setup_teardown(turn_that_sleeps_is_woken_by_the_bell,
                                        sides_open, sides_close),
        cmocka_unit_test_setup_teardown(
            peer_that_dies_is_lost_after_what_it_wrote, sides_open,
            sides_close),
        cmocka_unit_test_setup_teardown(peer_that_dies_amid_a_frame_is_lost,
                                        sides_open, sides_close),
        cmocka_unit_test_setup_teardown(peer_that_leaves_is_no_loss, sides_open,
                                        sides_close),
        cmocka_unit_test_setup_teardown(counts_that_cannot_be_lose_the_peer,
                                        sides_open, sides_close),
        cmocka_unit_test_setup_teardown(garbage_loses_the_peer, sides_open,
                                        sides_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
