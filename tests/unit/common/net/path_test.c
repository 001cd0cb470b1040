/* tests/unit/common/net/path_test.c - net/path.c */

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "net/path.h"
#include "net/socket.h"

static const uint64_t MS = CLOCK_NS_PER_MS;

static struct path
path_of(double loss, uint64_t round_trip_ms)
{
    return (struct path){
        .last = {.round_trip_ns = round_trip_ms * MS,
                 .resend_ns = (round_trip_ms + 200) * MS,
                 .resend_ns_max = 1500 * MS},
        .loss = loss,
    };
}

/* How likely it is that a question or its answer is lost each time that it
 * is sent within n_ns, by counting the times. */
static double
chance_of_silence(const struct path *path, uint64_t n_ns)
{
    const double fails = 1.0 - (1.0 - path->loss) * (1.0 - path->loss);
    uint64_t wait_ns = path->last.resend_ns;
    double chance = 1.0;

    for (uint64_t at_ns = 0; at_ns + 2 * path->last.round_trip_ns <= n_ns;
         at_ns += wait_ns) {
        if (at_ns > 0)
            wait_ns = wait_ns * 2 < path->last.resend_ns_max
                          ? wait_ns * 2
                          : path->last.resend_ns_max;
        chance *= fails;
    }
    return chance;
}

static void
silence_is_longer_than_chance_makes_it(void **state)
{
    for (uint64_t round_trip_ms = 0; round_trip_ms <= 300;
         round_trip_ms += 20) {
        uint64_t before_ns = 0;

        for (int percent = 1; percent <= 30; percent++) {
            const struct path path = path_of(percent / 100.0, round_trip_ms);
            const uint64_t n_ns = path_max_silence_ns(&path);

            assert_true(n_ns >= before_ns && n_ns <= PATH_SILENCE_MAX_NS);
            before_ns = n_ns;
            if (n_ns == PATH_SILENCE_MAX_NS)
                continue;
            assert_true(chance_of_silence(&path, n_ns) <= 1e-6);
            /* ... and not much longer. */
            assert_true(chance_of_silence(&path, n_ns / 2) > 1e-6);
        }
    }
}

static void
path_without_loss_adds_nothing(void **state)
{
    const struct path good = path_of(0.0, 300);
    const struct path unknown = {0};

    assert_int_equal(path_max_silence_ns(&good), 0);
    assert_int_equal(path_max_silence_ns(&unknown), 0);
}

/* Samples of TCP_INFO, in us: two of loopback, whose peer acknowledged late;
 * one of a network with 20 ms, and one of a busy wireless one. */
static void
late_acknowledgements_are_no_part_of_a_round_trip(void **state)
{
    static const struct {
        uint64_t round_trip_us, variation_us, min_us, expected_ms;
    } rows[] = {
        {26000, 20000, 60, 2},   {44000, 22000, 900, 11},
        {20300, 400, 20000, 21}, {9000, 4000, 2500, 25},
        {60, 30, 20, 0},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct path_sample sample = {
            .round_trip_ns = rows[i].round_trip_us * 1000,
            .round_trip_ns_min = rows[i].min_us * 1000,
            .variation_ns = rows[i].variation_us * 1000,
        };

        assert_int_equal(path_round_trip_ms_max(&sample), rows[i].expected_ms);
    }
}

/* A period later. */
struct observed {
    struct path path;
    struct path_sample sample;
    uint64_t now_ns;
};

static double
observe(struct observed *observed)
{
    observed->now_ns += PATH_PERIOD_NS;
    path_add_sample(&observed->path, &observed->sample, observed->now_ns);
    return observed->path.loss;
}

/* All that was sent has been acknowledged by then. */
static double
observe_acknowledged(struct observed *observed)
{
    (void)observe(observed);
    observed->sample.n_acknowledged += 1000;
    observed->sample.n_resends_now = 0;
    return observe(observed);
}

static void
loss_rises_at_once_and_falls_slowly(void **state)
{
    struct observed observed = {
        .sample = {.n_sent = 1000, .resend_ns = 300 * MS},
        .now_ns = CLOCK_NS_PER_S,
    };

    assert_true(observe_acknowledged(&observed) == 0.0);
    observed.sample.n_sent += 20;
    observed.sample.n_resent += 4;
    /* Too soon. */
    observed.sample.n_acknowledged += 1000;
    path_add_sample(&observed.path, &observed.sample,
                    observed.now_ns + PATH_PERIOD_NS - 1);
    assert_true(observed.path.loss == 0.0);
    const double loss = observe_acknowledged(&observed);
    assert_true(loss > 0.19 && loss < 0.21);

    /* Without packets nothing is learnt. */
    assert_true(observe_acknowledged(&observed) > 0.19);
    for (unsigned i = 0; i < 200; i++) {
        observed.sample.n_sent += 100;
        (void)observe_acknowledged(&observed);
    }
    assert_true(observed.path.loss < 0.001);
}

static void
few_packets_are_counted_with_the_next(void **state)
{
    struct observed observed = {
        .sample = {.n_sent = 1, .resend_ns = 300 * MS},
        .now_ns = CLOCK_NS_PER_S,
    };

    (void)observe_acknowledged(&observed);
    observed.sample.n_sent += 5;
    observed.sample.n_resent += 1;
    assert_true(observe_acknowledged(&observed) == 0.0);
    observed.sample.n_sent += 5;
    observed.sample.n_resent += 1;
    const double loss = observe_acknowledged(&observed);
    assert_true(loss > 0.19 && loss < 0.21);
}

/* What is sent again into a cut link is not acknowledged; whether the first
 * look is before the cut or after. */
static void
cut_is_no_loss(void **state)
{
    for (unsigned is_seen = 0; is_seen < 2; is_seen++) {
        struct observed observed = {
            .sample = {.n_sent = 20, .resend_ns = 300 * MS},
            .now_ns = CLOCK_NS_PER_S,
        };

        if (is_seen)
            assert_true(observe_acknowledged(&observed) == 0.0);
        /* The tail is probed; that is no timeout yet. */
        observed.sample.n_sent += 9;
        observed.sample.n_resent++;
        assert_true(observe(&observed) == 0.0);
        assert_false(path_has_loss(&observed.path));
        for (unsigned i = 1; i < 20; i++) {
            observed.sample.n_sent++;
            observed.sample.n_resent++;
            observed.sample.n_resends_now = i;
            assert_true(observe(&observed) == 0.0);
            assert_true(path_has_loss(&observed.path));
        }
        /* It was none. */
        assert_true(observe_acknowledged(&observed) > 0.29);
    }
}

/* A peer that is late looks like one that is lost, until it says what has
 * come twice. */
static void
what_had_arrived_was_not_lost(void **state)
{
    struct observed observed = {
        .sample = {.n_sent = 20, .resend_ns = 300 * MS},
        .now_ns = CLOCK_NS_PER_S,
    };

    assert_true(observe_acknowledged(&observed) == 0.0);
    observed.sample.n_sent += 20;
    observed.sample.n_resent += 2;
    (void)observe(&observed);
    observed.sample.n_needless += 2;
    assert_true(observe_acknowledged(&observed) == 0.0);
    observed.sample.n_sent += 20;
    observed.sample.n_resent += 4;
    observed.sample.n_needless += 2;
    const double loss = observe_acknowledged(&observed);
    assert_true(loss > 0.09 && loss < 0.11);
}

/* What counts had been sent at the last look; the two of later ones must
 * wait for theirs. */
static void
what_had_arrived_is_told_before_it_counts(void **state)
{
    struct observed observed = {
        .sample = {.n_sent = 20, .resend_ns = 300 * MS},
        .now_ns = CLOCK_NS_PER_S,
    };

    for (unsigned i = 0; i < 5; i++) {
        observed.sample.n_sent += 10;
        observed.sample.n_resent += i == 2 ? 2 : 0;
        observed.sample.n_needless += i == 2 ? 2 : 0;
        observed.sample.n_acknowledged += 1000;
        assert_true(observe(&observed) == 0.0);
    }
}

/* Looked at for the first time while something is being sent again. */
static void
loss_of_before_is_known_at_once(void **state)
{
    struct observed observed = {
        .sample = {.n_sent = 100,
                   .n_resent = 13,
                   .n_resends_now = 2,
                   .resend_ns = 300 * MS},
    };

    const double loss = observe(&observed);
    assert_true(loss > 0.09 && loss < 0.11);
}

static void
loss_of_what_comes_is_seen_by_its_order(void **state)
{
    struct path path = {0};
    struct path_sample sample = {.n_received = 50, .resend_ns = 300 * MS};

    path_add_sample(&path, &sample, CLOCK_NS_PER_S);
    sample.n_received += 100;
    sample.n_disordered += 10;
    path_add_sample(&path, &sample, CLOCK_NS_PER_S + PATH_PERIOD_NS);
    assert_true(path.loss > 0.09 && path.loss < 0.11);
}

/* Packets came between two samples, and none after the second. */
static void
packets_are_dated_by_the_sample_before_them(void **state)
{
    struct observed observed = {.sample = {.n_received = 5}};

    (void)observe(&observed);
    assert_int_equal(observed.path.heard_ns, 0);
    const uint64_t before_ns = observed.now_ns;
    observed.now_ns += 60 * CLOCK_NS_PER_S;
    observed.sample.n_received++;
    (void)observe(&observed);
    assert_int_equal(observed.path.heard_ns, before_ns);
    (void)observe(&observed);
    assert_int_equal(observed.path.heard_ns, before_ns);
}

struct listener {
    int fd;
    struct address address;
};

static struct listener
listener_open(int backlog)
{
    struct listener listener;
    struct address any;

    assert_ok(address_parse("127.0.0.1:0", &any));
    assert_ok(socket_listen(&any, backlog, &listener.fd));
    assert_ok(socket_local_address(listener.fd, &listener.address));
    return listener;
}

/* Until it is wanted, or a second has passed. */
static enum probe_state
probe_await(struct probe *probe, enum probe_state wanted)
{
    const uint64_t end_ns = clock_now_ns() + CLOCK_NS_PER_S;

    while (path_probe_poll(probe) != wanted && clock_now_ns() < end_ns)
        poll(NULL, 0, 1);
    return probe->state;
}

static void
process_that_runs_answers(void **state)
{
    struct listener listener = listener_open(8);
    struct probe probe = {.fd = -1};
    char byte;

    path_probe_start(&probe, &listener.address);
    assert_int_equal(probe_await(&probe, PROBE_REACHED), PROBE_REACHED);
    /* It sees the end, and closes. */
    const int fd = accept(listener.fd, NULL, NULL);
    assert_int_equal(read(fd, &byte, 1), 0);
    assert_int_equal(path_probe_poll(&probe), PROBE_REACHED);
    close(fd);
    assert_int_equal(probe_await(&probe, PROBE_ANSWERED), PROBE_ANSWERED);
    assert_int_equal(probe.fd, -1);
    path_probe_end(&probe);
    socket_close(listener.fd);
}

/* Its kernel answers for it, and nobody closes. */
static void
process_that_is_stopped_is_reached_only(void **state)
{
    struct listener listener = listener_open(8);
    struct probe probe = {.fd = -1};

    path_probe_start(&probe, &listener.address);
    assert_int_equal(probe_await(&probe, PROBE_REACHED), PROBE_REACHED);
    assert_int_equal(probe_await(&probe, PROBE_ANSWERED), PROBE_REACHED);
    path_probe_end(&probe);
    socket_close(listener.fd);
}

static void
nobody_answers_where_nobody_listens(void **state)
{
    struct listener listener = listener_open(8);
    const struct address none = {0};
    struct probe probe = {.fd = -1};

    socket_close(listener.fd);
    path_probe_start(&probe, &listener.address);
    assert_int_not_equal(probe_await(&probe, PROBE_ANSWERED), PROBE_ANSWERED);
    assert_int_not_equal(probe.state, PROBE_REACHED);
    path_probe_start(&probe, &none);
    assert_int_equal(path_probe_poll(&probe), PROBE_NONE);
    path_probe_end(&probe);
}

static void
sample_is_of_tcp_only(void **state)
{
    struct listener listener = listener_open(8);
    struct path_sample sample;
    int pair[2];
    int fd;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_false(path_sample_read(pair[0], &sample));
    close(pair[0]);
    close(pair[1]);

    assert_ok(socket_connect(&listener.address, &fd));
    const int other = accept(listener.fd, NULL, NULL);
    assert_int_equal(write(other, "1234", 4), 4);
    assert_true(path_sample_read(other, &sample));
    assert_int_equal(sample.n_sent, 1);
    assert_int_equal(sample.n_resent, 0);
    assert_true(sample.resend_ns >= 200 * MS);
    assert_true(sample.resend_ns_max >= sample.resend_ns);
    close(other);
    socket_close(fd);
    socket_close(listener.fd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_is_longer_than_chance_makes_it),
        cmocka_unit_test(path_without_loss_adds_nothing),
        cmocka_unit_test(late_acknowledgements_are_no_part_of_a_round_trip),
        cmocka_unit_test(loss_rises_at_once_and_falls_slowly),
        cmocka_unit_test(few_packets_are_counted_with_the_next),
        cmocka_unit_test(cut_is_no_loss),
        cmocka_unit_test(what_had_arrived_was_not_lost),
        cmocka_unit_test(what_had_arrived_is_told_before_it_counts),
        cmocka_unit_test(loss_of_before_is_known_at_once),
        cmocka_unit_test(loss_of_what_comes_is_seen_by_its_order),
        cmocka_unit_test(packets_are_dated_by_the_sample_before_them),
        cmocka_unit_test(process_that_runs_answers),
        cmocka_unit_test(process_that_is_stopped_is_reached_only),
        cmocka_unit_test(nobody_answers_where_nobody_listens),
        cmocka_unit_test(sample_is_of_tcp_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
