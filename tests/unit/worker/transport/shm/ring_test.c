/* tests/unit/worker/transport/shm/ring_test.c - transport/shm/segment.c */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/limits.h"
#include "check.h"
#include "transport/shm/negotiation.h"
#include "transport/shm/segment.h"

enum {
    N_RING = LIMIT_RING_MIN,
};

/* Both ends of one segment, in one process. */
static struct segment *maker;
static struct segment *taker;
static uint8_t bytes[2 * N_RING];

static int
rings_open(void **state)
{
    struct shared_memory_handle place;

    assert_ok(segment_create(N_RING, &place, &maker));
    assert_ok(segment_open(&place, &taker));
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 11);
    return 0;
}

static int
rings_close(void **state)
{
    segment_destroy(maker);
    segment_destroy(taker);
    return 0;
}

static size_t
write_bytes(size_t n_bytes)
{
    const struct iovec span = {bytes, n_bytes};

    return ring_write(&maker->out, &span, 1);
}

/* What is there, in pieces as promised, is bytes from first on. */
static size_t
read_bytes(size_t first)
{
    size_t n_total = 0;
    size_t n_bytes;

    for (;;) {
        const uint8_t *at = ring_peek(&taker->in, &n_bytes);

        if (n_bytes > RING_PIECE_BYTES)
            n_bytes = RING_PIECE_BYTES;
        if (n_bytes == 0)
            return n_total;
        assert_memory_equal(at, bytes + first + n_total, n_bytes);
        ring_consume(&taker->in, n_bytes);
        ring_release(&taker->in);
        n_total += n_bytes;
    }
}

static void
write_is_read_in_order_round_and_round(void **state)
{
    for (size_t i = 0; i < 500; i++) {
        const size_t n_bytes = RING_ALIGNMENT_BYTES *
                               (1 + i * 37 % (N_RING / RING_ALIGNMENT_BYTES));

        assert_int_equal(write_bytes(n_bytes), n_bytes);
        assert_int_equal(read_bytes(0), n_bytes);
    }
}

static void
write_of_many_spans_is_one_stream(void **state)
{
    const struct iovec spans[] = {
        {bytes, 100}, {bytes + 100, 1}, {NULL, 0}, {bytes + 101, 27}};

    assert_int_equal(ring_write(&maker->out, spans, 4), 128);
    assert_int_equal(read_bytes(0), 128);
}

static void
write_beyond_the_room_is_cut(void **state)
{
    assert_int_equal(write_bytes(sizeof(bytes)), N_RING);
    assert_false(ring_has_room(&maker->out));
    assert_int_equal(write_bytes(RING_ALIGNMENT_BYTES), 0);
    assert_int_equal(read_bytes(0), N_RING);
    assert_true(ring_has_room(&maker->out));
    /* Only whole steps. */
    assert_int_equal(write_bytes(RING_ALIGNMENT_BYTES + 1),
                     RING_ALIGNMENT_BYTES);
}

static void
what_is_taken_is_room_when_it_is_told(void **state)
{
    size_t n_bytes;

    assert_int_equal(write_bytes(N_RING), N_RING);
    ring_peek(&taker->in, &n_bytes);
    ring_consume(&taker->in, N_RING / 2);
    assert_int_equal(write_bytes(RING_ALIGNMENT_BYTES), 0);
    ring_release(&taker->in);
    assert_int_equal(write_bytes(N_RING), N_RING / 2);
}

static void
reader_that_sleeps_is_woken_once(void **state)
{
    assert_false(ring_must_wake_reader(&maker->out));
    assert_true(ring_reader_prepare_sleep(&taker->in));
    assert_int_equal(write_bytes(RING_ALIGNMENT_BYTES), RING_ALIGNMENT_BYTES);
    assert_true(ring_must_wake_reader(&maker->out));
    assert_false(ring_must_wake_reader(&maker->out));
    /* What came since the last look. */
    assert_false(ring_reader_prepare_sleep(&taker->in));
    ring_reader_clear_sleeping(&taker->in);
    assert_false(ring_must_wake_reader(&maker->out));
    assert_int_equal(read_bytes(0), RING_ALIGNMENT_BYTES);
    assert_true(ring_reader_prepare_sleep(&taker->in));
}

static void
writer_that_sleeps_is_woken_once(void **state)
{
    assert_int_equal(write_bytes(N_RING), N_RING);
    assert_true(ring_writer_prepare_sleep(&maker->out));
    assert_int_equal(read_bytes(0), N_RING);
    assert_true(ring_must_wake_writer(&taker->in));
    assert_false(ring_must_wake_writer(&taker->in));
    assert_false(ring_writer_prepare_sleep(&maker->out));
    ring_writer_clear_sleeping(&maker->out);
    assert_false(ring_must_wake_writer(&taker->in));
}

static void
end_is_seen_and_keeps_the_reader_awake(void **state)
{
    assert_int_equal(write_bytes(RING_ALIGNMENT_BYTES), RING_ALIGNMENT_BYTES);
    assert_false(ring_has_ended(&taker->in));
    ring_mark_end(&maker->out);
    assert_true(ring_has_ended(&taker->in));
    assert_int_equal(read_bytes(0), RING_ALIGNMENT_BYTES);
    assert_false(ring_reader_prepare_sleep(&taker->in));
}

/* What a hostile writer says it wrote. */
static void
counts_that_cannot_be_break_the_reader(void **state)
{
    static const uint64_t counts[] = {N_RING + 1, UINT64_MAX, 1ull << 63};
    size_t n_bytes;

    for (size_t i = 0; i < 3; i++) {
        atomic_store(&maker->out.control->written, counts[i]);
        ring_peek(&taker->in, &n_bytes);
        assert_int_equal(n_bytes, 0);
        assert_true(taker->in.is_broken);
        rings_close(state);
        rings_open(state);
    }
    assert_int_equal(write_bytes(RING_ALIGNMENT_BYTES), RING_ALIGNMENT_BYTES);
    ring_peek(&taker->in, &n_bytes);
    atomic_store(&maker->out.control->written, 0);
    ring_peek(&taker->in, &n_bytes);
    assert_true(taker->in.is_broken);
}

/* What a hostile reader says it read: one byte more than was written, or one
 * byte less than a ring before that. */
static void
counts_that_cannot_be_break_the_writer(void **state)
{
    static const uint64_t counts[] = {2 * N_RING + 1, N_RING - 1, UINT64_MAX};

    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(write_bytes(N_RING), N_RING);
        assert_int_equal(read_bytes(0), N_RING);
        assert_int_equal(write_bytes(N_RING), N_RING);
        atomic_store(&taker->in.control->read, counts[i]);
        assert_int_equal(write_bytes(RING_ALIGNMENT_BYTES), 0);
        assert_true(maker->out.is_broken);
        /* So that somebody tries, and learns it. */
        assert_true(ring_has_room(&maker->out));
        rings_close(state);
        rings_open(state);
    }
}

/* Two threads, either of which sleeps whenever it may: a wake-up that is lost
 * would leave both asleep for good. */
enum {
    N_STREAM = 4 << 20,
};

struct bells {
    pthread_mutex_t lock;
    pthread_cond_t rung;
    unsigned n_for[2];
    atomic_bool has_failed;
};

enum sleeper {
    READER,
    WRITER,
};

static struct bells bells = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .rung = PTHREAD_COND_INITIALIZER,
};

static void
wakeup_signal(enum sleeper whom)
{
    pthread_mutex_lock(&bells.lock);
    bells.n_for[whom]++;
    pthread_cond_broadcast(&bells.rung);
    pthread_mutex_unlock(&bells.lock);
}

static void
bell_await(enum sleeper who)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    pthread_mutex_lock(&bells.lock);
    while (bells.n_for[who] == 0 && !atomic_load(&bells.has_failed)) {
        if (pthread_cond_timedwait(&bells.rung, &bells.lock, &until) ==
            ETIMEDOUT)
            atomic_store(&bells.has_failed, true);
    }
    bells.n_for[who] = 0;
    pthread_mutex_unlock(&bells.lock);
}

static void *
stream_write(void *owner)
{
    size_t n_total = 0;

    while (n_total < N_STREAM && !atomic_load(&bells.has_failed)) {
        const size_t n_wanted =
            RING_ALIGNMENT_BYTES * (1 + n_total / RING_ALIGNMENT_BYTES % 200);
        const size_t n_left = N_STREAM - n_total;
        const size_t n = write_bytes(n_wanted < n_left ? n_wanted : n_left);

        n_total += n;
        if (ring_must_wake_reader(&maker->out))
            wakeup_signal(READER);
        if (n == 0 && ring_writer_prepare_sleep(&maker->out))
            bell_await(WRITER);
        ring_writer_clear_sleeping(&maker->out);
    }
    return NULL;
}

static size_t
read_once(void)
{
    size_t n_bytes;

    ring_peek(&taker->in, &n_bytes);
    ring_consume(&taker->in, n_bytes);
    ring_release(&taker->in);
    if (ring_must_wake_writer(&taker->in))
        wakeup_signal(WRITER);
    return n_bytes;
}

static void
two_that_sleep_when_they_may_miss_no_bell(void **state)
{
    pthread_t thread;
    size_t n_total = 0;

    assert_int_equal(pthread_create(&thread, NULL, stream_write, NULL), 0);
    while (n_total < N_STREAM && !atomic_load(&bells.has_failed)) {
        const size_t n_bytes = read_once();

        n_total += n_bytes;
        if (n_bytes == 0 && n_total < N_STREAM &&
            ring_reader_prepare_sleep(&taker->in))
            bell_await(READER);
        ring_reader_clear_sleeping(&taker->in);
    }
    pthread_join(thread, NULL);
    assert_false(atomic_load(&bells.has_failed));
    assert_int_equal(n_total, N_STREAM);
}

/* Rank 0 dials rank 1; [0] is the dialer. */
static struct roster *rosters[2];
static struct handshake handshakes[2];
static struct shm_negotiation sides[2];

static int
sides_open(void **state)
{
    for (uint32_t i = 0; i < 2; i++) {
        assert_ok(roster_create(2, &rosters[i]));
        rosters[i]->rank = i;
        handshakes[i] = (struct handshake){.roster = rosters[i], .peer = 1 - i};
        sides[i] = (struct shm_negotiation){.mode = SHM_MODE_AUTO};
    }
    return 0;
}

static int
sides_close(void **state)
{
    for (uint32_t i = 0; i < 2; i++) {
        shm_negotiation_deinit(&sides[i]);
        roster_destroy(rosters[i]);
    }
    return 0;
}

static void
tell(unsigned from)
{
    memcpy(handshakes[1 - from].offer, handshakes[from].offer,
           HANDSHAKE_OFFER_BYTES);
}

static void
sides_settle(void)
{
    shm_negotiation_offer(&sides[0], &handshakes[0]);
    tell(0);
    shm_negotiation_accept(&sides[1], &handshakes[1]);
    tell(1);
    shm_negotiation_finish(&sides[0], &handshakes[0]);
}

/* Both know that they do not share, why, and whether that is an error. */
static void
assert_apart(enum shm_obstacle obstacle, bool has_failed)
{
    for (unsigned i = 0; i < 2; i++) {
        assert_null(sides[i].segment);
        assert_int_equal(sides[i].obstacle, obstacle);
        assert_int_equal(shm_negotiation_has_failed(&sides[i]), has_failed);
    }
}

static void
two_of_one_node_share(void **state)
{
    sides_settle();
    for (unsigned i = 0; i < 2; i++) {
        assert_non_null(sides[i].segment);
        assert_int_equal(sides[i].segment->fd, -1);
        assert_false(shm_negotiation_has_failed(&sides[i]));
    }
    assert_ptr_not_equal(sides[0].segment->base, sides[1].segment->base);
}

static void
two_of_different_nodes_do_not(void **state)
{
    for (unsigned i = 0; i < 2; i++)
        snprintf(rosters[i]->members[1].host_id, LIMIT_NAME, "far");
    sides_settle();
    assert_apart(SHM_OBSTACLE_OTHER_NODE, false);
}

static void
one_that_wants_tcp_has_it(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        sides[i].mode = SHM_MODE_NEVER;
        sides_settle();
        assert_apart(SHM_OBSTACLE_DISABLED, false);
        sides[1 - i].mode = SHM_MODE_ALWAYS;
        sides_settle();
        assert_apart(SHM_OBSTACLE_DISABLED, true);
        assert_non_null(
            strstr(shm_negotiation_text(&sides[0]), "HOOP_TRANSPORT=tcp"));
        sides_close(state);
        sides_open(state);
    }
}

/* As of a container with a /proc of its own. */
static void
offer_that_cannot_be_reached_is_left(void **state)
{
    shm_negotiation_offer(&sides[0], &handshakes[0]);
    memset(handshakes[0].offer + 2, 0x7f, 4);
    tell(0);
    shm_negotiation_accept(&sides[1], &handshakes[1]);
    tell(1);
    shm_negotiation_finish(&sides[0], &handshakes[0]);
    assert_apart(SHM_OBSTACLE_UNREACHABLE, false);
}

static void
one_that_knows_nothing_of_it_is_left_in_peace(void **state)
{
    memset(handshakes[1].offer, 0, HANDSHAKE_OFFER_BYTES);
    shm_negotiation_accept(&sides[1], &handshakes[1]);
    assert_null(sides[1].segment);
    shm_negotiation_offer(&sides[0], &handshakes[0]);
    memset(handshakes[0].offer, 0, HANDSHAKE_OFFER_BYTES);
    shm_negotiation_finish(&sides[0], &handshakes[0]);
    assert_apart(SHM_OBSTACLE_UNKNOWN, false);
}

/* From bytes that a peer chooses. */
static void
unknown_obstacle_is_one(void **state)
{
    shm_negotiation_offer(&sides[0], &handshakes[0]);
    handshakes[0].offer[0] = 200;
    tell(0);
    shm_negotiation_accept(&sides[1], &handshakes[1]);
    assert_null(sides[1].segment);
    assert_non_null(
        strstr(shm_negotiation_text(&sides[1]), "does not say why"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(write_is_read_in_order_round_and_round,
                                        rings_open, rings_close),
        cmocka_unit_test_setup_teardown(write_of_many_spans_is_one_stream,
                                        rings_open, rings_close),
        cmocka_unit_test_setup_teardown(write_beyond_the_room_is_cut,
                                        rings_open, rings_close),
        cmocka_unit_test_setup_teardown(what_is_taken_is_room_when_it_is_told,
                                        rings_open, rings_close),
        cmocka_unit_test_setup_teardown(reader_that_sleeps_is_woken_once,
                                        rings_open, rings_close),
        cmocka_unit_test_setup_teardown(writer_that_sleeps_is_woken_once,
                                        rings_open, rings_close),
        cmocka_unit_test_setup_teardown(end_is_seen_and_keeps_the_reader_awake,
                                        rings_open, rings_close),
        cmocka_unit_test_setup_teardown(counts_that_cannot_be_break_the_reader,
                                        rings_open, rings_close),
        cmocka_unit_test_setup_teardown(counts_that_cannot_be_break_the_writer,
                                        rings_open, rings_close),
        cmocka_unit_test_setup_teardown(
            two_that_sleep_when_they_may_miss_no_bell, rings_open, rings_close),
        cmocka_unit_test_setup_teardown(two_of_one_node_share, sides_open,
                                        sides_close),
        cmocka_unit_test_setup_teardown(two_of_different_nodes_do_not,
                                        sides_open, sides_close),
        cmocka_unit_test_setup_teardown(one_that_wants_tcp_has_it, sides_open,
                                        sides_close),
        cmocka_unit_test_setup_teardown(offer_that_cannot_be_reached_is_left,
                                        sides_open, sides_close),
        cmocka_unit_test_setup_teardown(
            one_that_knows_nothing_of_it_is_left_in_peace, sides_open,
            sides_close),
        cmocka_unit_test_setup_teardown(unknown_obstacle_is_one, sides_open,
                                        sides_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
