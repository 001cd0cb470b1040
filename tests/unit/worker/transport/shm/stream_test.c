/*
 * tests/unit/worker/transport/shm/stream_test.c - transport/shm/stream.c
 *
 * One side is a test_transport, the other this test, with its end of the
 * segment and of the connection in hand. What two test_transports do to each
 * other is tested by the other tests here with HOOP_TRANSPORT=auto.
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
#include "unit/worker/transport/shm_fixture.h"

enum {
    SMALL = SHM_FIXTURE_SMALL,
    LARGE = SHM_FIXTURE_LARGE,
};

static unsigned
bells_heard(void)
{
    uint8_t rung[8];
    const ssize_t n = recv(shm_fixture.fd, rung, sizeof(rung), 0);

    return n > 0 ? (unsigned)n : 0;
}

static void
message_is_placed_from_the_ring(void **state)
{
    struct recv_request in = recv_request_collective(1, shm_fixture.got, LARGE);
    const struct frame frame = frame_collective(0, LARGE, LARGE);

    transport_receive(shm_fixture.here.transport, &in);
    shm_fixture_feed_frame(&frame, shm_fixture.bytes);
    assert_int_equal(in.arrived, LARGE);
    pattern_check(shm_fixture.got, LARGE, 3);
}

/* Elements that do not divide the ring's steps are handed on whole, too. */
static void
pieces_are_handed_on_in_whole_elements(void **state)
{
    static const size_t sizes[] = {1, 8, 16, 40, 100};

    for (size_t i = 0; i < 5; i++) {
        const size_t total = LARGE / sizes[i] * sizes[i];
        struct sink sink = {.bytes = shm_fixture.got};
        struct recv_request in = recv_request_collective(1, NULL, total);
        const struct frame frame = frame_collective(0, (uint32_t)total, total);

        in.element_size = sizes[i];
        in.owner = &sink;
        transport_receive(shm_fixture.here.transport, &in);
        shm_fixture_feed_frame(&frame, shm_fixture.bytes);
        assert_int_equal(sink.n_bytes, total);
        assert_true(sink.n_pieces > 1);
        pattern_check(shm_fixture.got, total, 3);
        shm_fixture_close(state);
        shm_fixture_open(state);
    }
}

static void
message_that_comes_early_is_kept(void **state)
{
    struct recv_request in = recv_request_collective(1, shm_fixture.got, SMALL);
    struct frame frame = frame_collective(0, SMALL, SMALL);

    frame.flags = FRAME_EAGER;
    shm_fixture_feed_frame(&frame, shm_fixture.bytes);
    transport_receive(shm_fixture.here.transport, &in);
    test_transport_settle(&shm_fixture.here);
    assert_int_equal(in.arrived, SMALL);
    pattern_check(shm_fixture.got, SMALL, 3);
}

static void
ring_that_is_full_is_written_on_when_it_is_read(void **state)
{
    struct send_request out =
        send_request_collective(1, shm_fixture.bytes, LARGE);
    size_t n_total = 0;
    size_t n_bytes;

    transport_send(shm_fixture.here.transport, &out);
    out.granted = LARGE;
    test_transport_settle(&shm_fixture.here);
    assert_true(out.handed < LARGE);
    for (unsigned n_turns = 0; n_turns < 1000 && out.handed < LARGE;
         n_turns++) {
        ring_peek(&shm_fixture.peer->in, &n_bytes);
        ring_consume(&shm_fixture.peer->in, n_bytes);
        ring_release(&shm_fixture.peer->in);
        n_total += n_bytes;
        transport_progress(shm_fixture.here.transport, 0);
    }
    assert_int_equal(out.handed, LARGE);
    assert_true(n_total > LARGE - LIMIT_RING_MIN);
}

static void
reader_is_rung_only_when_it_sleeps(void **state)
{
    struct send_request first =
        send_request_collective(1, shm_fixture.bytes, SMALL);
    struct send_request second =
        send_request_collective(1, shm_fixture.bytes, SMALL);
    size_t n_bytes;

    transport_send(shm_fixture.here.transport, &first);
    test_transport_settle(&shm_fixture.here);
    assert_int_equal(bells_heard(), 0);
    ring_peek(&shm_fixture.peer->in, &n_bytes);
    assert_true(ring_reader_prepare_sleep(&shm_fixture.peer->in));
    second.key.step++;
    transport_send(shm_fixture.here.transport, &second);
    test_transport_settle(&shm_fixture.here);
    assert_int_equal(second.handed, SMALL);
    assert_int_equal(bells_heard(), 1);
}

static void *
write_soon(void *owner)
{
    const struct frame frame = frame_collective(0, SMALL, SMALL);
    static uint8_t stream[LIMIT_FRAME_HEADER + SMALL + LIMIT_FRAME_PAD];
    const struct iovec span = {stream,
                               frame_bytes(&frame, shm_fixture.bytes, stream)};
    unsigned *n_rings = owner;

    /* Until it sleeps: then it asks to be rung. */
    while (!atomic_load(&shm_fixture.peer->out.control->reader_sleeps))
        sched_yield();
    ring_write(&shm_fixture.peer->out, &span, 1);
    while (ring_must_wake_reader(&shm_fixture.peer->out)) {
        *n_rings += 1;
        assert_int_equal(send(shm_fixture.fd, "!", 1, MSG_NOSIGNAL), 1);
    }
    return NULL;
}

static void
turn_that_sleeps_is_woken_by_the_bell(void **state)
{
    struct recv_request in = recv_request_collective(1, shm_fixture.got, SMALL);
    pthread_t thread;
    unsigned n_rings = 0;

    transport_receive(shm_fixture.here.transport, &in);
    test_transport_settle(&shm_fixture.here);
    while (bells_heard() > 0)
        ;
    assert_int_equal(pthread_create(&thread, NULL, write_soon, &n_rings), 0);
    assert_true(transport_progress(shm_fixture.here.transport, 20000));
    pthread_join(thread, NULL);
    assert_int_equal(n_rings, 1);
    test_transport_settle(&shm_fixture.here);
    assert_int_equal(in.arrived, SMALL);
    assert_false(atomic_load(&shm_fixture.peer->out.control->reader_sleeps));
}

static void
peer_that_dies_is_lost_after_what_it_wrote(void **state)
{
    struct recv_request in = recv_request_collective(1, shm_fixture.got, SMALL);
    const struct frame frame = frame_collective(0, SMALL, SMALL);
    uint8_t stream[LIMIT_FRAME_HEADER + SMALL + LIMIT_FRAME_PAD];
    const struct iovec span = {stream,
                               frame_bytes(&frame, shm_fixture.bytes, stream)};

    transport_receive(shm_fixture.here.transport, &in);
    assert_int_equal(ring_write(&shm_fixture.peer->out, &span, 1),
                     span.iov_len);
    close(shm_fixture.fd);
    shm_fixture.fd = -1;
    test_transport_settle(&shm_fixture.here);
    assert_int_equal(in.arrived, SMALL);
    pattern_check(shm_fixture.got, SMALL, 3);
    assert_int_equal(shm_fixture.here.n_lost, 1);
    assert_non_null(strstr(shm_fixture.here.text, "connection reset"));
}

static void
peer_that_dies_amid_a_frame_is_lost(void **state)
{
    const struct frame frame = frame_collective(0, SMALL, SMALL);
    uint8_t stream[LIMIT_FRAME_HEADER + SMALL + LIMIT_FRAME_PAD];
    struct recv_request in = recv_request_collective(1, shm_fixture.got, SMALL);

    transport_receive(shm_fixture.here.transport, &in);
    frame_bytes(&frame, shm_fixture.bytes, stream);
    shm_fixture_feed(stream, LIMIT_FRAME_HEADER + RING_ALIGNMENT_BYTES);
    ring_mark_end(&shm_fixture.peer->out);
    close(shm_fixture.fd);
    shm_fixture.fd = -1;
    test_transport_settle(&shm_fixture.here);
    assert_int_equal(shm_fixture.here.n_lost, 1);
    assert_int_equal(in.arrived, RING_ALIGNMENT_BYTES);
}

static void
peer_that_leaves_is_no_loss(void **state)
{
    const struct frame goodbye = {.kind = FRAME_GOODBYE,
                                  .epoch = TEST_TRANSPORT_EPOCH};

    shm_fixture_feed_frame(&goodbye, NULL);
    assert_int_equal(shm_fixture.here.n_left, 1);
    ring_mark_end(&shm_fixture.peer->out);
    test_transport_settle(&shm_fixture.here);
    transport_start_shutdown(shm_fixture.here.transport);
    test_transport_settle(&shm_fixture.here);
    assert_true(transport_is_shut_down(shm_fixture.here.transport));
    assert_true(transport_is_disconnected(shm_fixture.here.transport, 1));
    assert_true(ring_has_ended(&shm_fixture.peer->in));
    assert_int_equal(shm_fixture.here.n_lost, 0);
}

static void
counts_that_cannot_be_lose_the_peer(void **state)
{
    struct send_request out =
        send_request_collective(1, shm_fixture.bytes, LARGE);

    atomic_store(&shm_fixture.peer->out.control->written, 1ull << 40);
    test_transport_settle(&shm_fixture.here);
    assert_int_equal(shm_fixture.here.n_lost, 1);
    assert_non_null(strstr(shm_fixture.here.text, "broken"));
    shm_fixture_close(state);
    shm_fixture_open(state);
    atomic_store(&shm_fixture.peer->in.control->read, 1ull << 40);
    transport_send(shm_fixture.here.transport, &out);
    out.granted = LARGE;
    for (unsigned i = 0; i < 100 && shm_fixture.here.n_lost == 0; i++)
        transport_progress(shm_fixture.here.transport, 0);
    assert_int_equal(shm_fixture.here.n_lost, 1);
}

static void
garbage_loses_the_peer(void **state)
{
    shm_fixture_feed(shm_fixture.bytes,
                     LARGE / RING_ALIGNMENT_BYTES * RING_ALIGNMENT_BYTES);
    assert_int_equal(shm_fixture.here.n_lost, 1);
    /* Its memory is gone, and nothing touches it any more. */
    test_transport_settle(&shm_fixture.here);
    assert_int_equal(shm_fixture.here.n_lost, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SHM_FIXTURE_TEST(message_is_placed_from_the_ring),
        SHM_FIXTURE_TEST(pieces_are_handed_on_in_whole_elements),
        SHM_FIXTURE_TEST(message_that_comes_early_is_kept),
        SHM_FIXTURE_TEST(ring_that_is_full_is_written_on_when_it_is_read),
        SHM_FIXTURE_TEST(reader_is_rung_only_when_it_sleeps),
        SHM_FIXTURE_TEST(turn_that_sleeps_is_woken_by_the_bell),
        SHM_FIXTURE_TEST(peer_that_dies_is_lost_after_what_it_wrote),
        SHM_FIXTURE_TEST(peer_that_dies_amid_a_frame_is_lost),
        SHM_FIXTURE_TEST(peer_that_leaves_is_no_loss),
        SHM_FIXTURE_TEST(counts_that_cannot_be_lose_the_peer),
        SHM_FIXTURE_TEST(garbage_loses_the_peer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
