/* tests/unit/worker/transport/tcp/stream_autotune_test.c - transport/tcp/stream_group.c */

#include "base/limits.h"
#include "check.h"
#include "transport/tcp/stream_group.h"

static uint64_t now_ns;

static uint64_t
clock_read(void)
{
    return now_ns;
}

/* Enough bytes for a phase at so many bytes per microsecond. */
static unsigned
phase_run(struct stream_autotune *stream_autotune, uint64_t rate)
{
    unsigned n_streams = stream_autotune->n_streams;

    for (unsigned i = 0; i < 1000 && n_streams == stream_autotune->n_streams &&
                         !stream_autotune->is_settled;
         i++) {
        now_ns += 1000000 / rate * 1000;
        n_streams =
            stream_autotune_record_bytes(stream_autotune, 1000000, clock_read);
    }
    return n_streams;
}

static struct stream_autotune
stream_autotune_new(void)
{
    struct stream_autotune stream_autotune = {0};

    now_ns = 1000;
    stream_autotune_begin(&stream_autotune, 1);
    return stream_autotune;
}

static void
more_are_added_while_they_bring_more(void **state)
{
    struct stream_autotune stream_autotune = stream_autotune_new();

    (void)state;
    assert_int_equal(phase_run(&stream_autotune, 100), 2);
    stream_autotune_begin(&stream_autotune, 2);
    assert_int_equal(phase_run(&stream_autotune, 190), 4);
    stream_autotune_begin(&stream_autotune, 4);
    assert_int_equal(phase_run(&stream_autotune, 200), 2);
    assert_true(stream_autotune.is_settled);
    stream_autotune_begin(&stream_autotune, 2);
    assert_int_equal(phase_run(&stream_autotune, 300), 2);
}

static void
one_stays_where_two_bring_nothing(void **state)
{
    struct stream_autotune stream_autotune = stream_autotune_new();

    (void)state;
    assert_int_equal(phase_run(&stream_autotune, 100), 2);
    stream_autotune_begin(&stream_autotune, 2);
    assert_int_equal(phase_run(&stream_autotune, 105), 1);
    assert_true(stream_autotune.is_settled);
}

static void
there_is_an_end_to_it(void **state)
{
    struct stream_autotune stream_autotune = stream_autotune_new();
    unsigned n_streams = 1;

    (void)state;
    for (uint64_t rate = 10; !stream_autotune.is_settled; rate *= 2) {
        stream_autotune_begin(&stream_autotune, n_streams);
        n_streams = phase_run(&stream_autotune, rate);
    }
    assert_int_equal(n_streams, LIMIT_STREAMS);
}

/* A pause spoils its own window alone. */
static void
pauses_do_not_count(void **state)
{
    struct stream_autotune stream_autotune = stream_autotune_new();

    (void)state;
    for (unsigned i = 0; i < 60; i++) {
        now_ns += i % 10 == 5 ? 1000000000u : 10000000u;
        assert_int_equal(
            stream_autotune_record_bytes(&stream_autotune, 1000000, clock_read),
            1);
    }
    assert_true(stream_autotune.best > 90e6);
    assert_int_equal(phase_run(&stream_autotune, 100), 2);
    stream_autotune_begin(&stream_autotune, 2);
    assert_int_equal(phase_run(&stream_autotune, 105), 1);
}

/* While those that it asked for are under way, or never come. */
static void
it_asks_once(void **state)
{
    struct stream_autotune stream_autotune = stream_autotune_new();

    (void)state;
    assert_int_equal(phase_run(&stream_autotune, 100), 2);
    for (unsigned i = 0; i < 200; i++) {
        now_ns += 1000000;
        assert_int_equal(
            stream_autotune_record_bytes(&stream_autotune, 1000000, clock_read),
            1);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_are_added_while_they_bring_more),
        cmocka_unit_test(one_stays_where_two_bring_nothing),
        cmocka_unit_test(there_is_an_end_to_it),
        cmocka_unit_test(pauses_do_not_count),
        cmocka_unit_test(it_asks_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
