/* tests/unit/worker/transport/pace_test.c - transport/pace.c */

#include "base/limits.h"
#include "check.h"
#include "transport/pace.h"

static uint64_t now_ns;

static uint64_t
clock_read(void)
{
    return now_ns;
}

/* Enough bytes for a phase at so many bytes per microsecond. */
static unsigned
phase_run(struct pace *pace, uint64_t rate)
{
    unsigned n_streams = pace->n_streams;

    for (unsigned i = 0;
         i < 1000 && n_streams == pace->n_streams && !pace->is_settled; i++) {
        now_ns += 1000000 / rate * 1000;
        n_streams = pace_moved(pace, 1000000, clock_read);
    }
    return n_streams;
}

static struct pace
pace_new(void)
{
    struct pace pace = {0};

    now_ns = 1000;
    pace_begin(&pace, 1);
    return pace;
}

static void
more_are_added_while_they_bring_more(void **state)
{
    struct pace pace = pace_new();

    (void)state;
    assert_int_equal(phase_run(&pace, 100), 2);
    pace_begin(&pace, 2);
    assert_int_equal(phase_run(&pace, 190), 4);
    pace_begin(&pace, 4);
    assert_int_equal(phase_run(&pace, 200), 2);
    assert_true(pace.is_settled);
    pace_begin(&pace, 2);
    assert_int_equal(phase_run(&pace, 300), 2);
}

static void
one_stays_where_two_bring_nothing(void **state)
{
    struct pace pace = pace_new();

    (void)state;
    assert_int_equal(phase_run(&pace, 100), 2);
    pace_begin(&pace, 2);
    assert_int_equal(phase_run(&pace, 105), 1);
    assert_true(pace.is_settled);
}

static void
there_is_an_end_to_it(void **state)
{
    struct pace pace = pace_new();
    unsigned n_streams = 1;

    (void)state;
    for (uint64_t rate = 10; !pace.is_settled; rate *= 2) {
        pace_begin(&pace, n_streams);
        n_streams = phase_run(&pace, rate);
    }
    assert_int_equal(n_streams, LIMIT_STREAMS);
}

/* A pause spoils its own window alone. */
static void
pauses_do_not_count(void **state)
{
    struct pace pace = pace_new();

    (void)state;
    for (unsigned i = 0; i < 60; i++) {
        now_ns += i % 10 == 5 ? 1000000000u : 10000000u;
        assert_int_equal(pace_moved(&pace, 1000000, clock_read), 1);
    }
    assert_true(pace.best > 90e6);
    assert_int_equal(phase_run(&pace, 100), 2);
    pace_begin(&pace, 2);
    assert_int_equal(phase_run(&pace, 105), 1);
}

/* While those that it asked for are under way, or never come. */
static void
it_asks_once(void **state)
{
    struct pace pace = pace_new();

    (void)state;
    assert_int_equal(phase_run(&pace, 100), 2);
    for (unsigned i = 0; i < 200; i++) {
        now_ns += 1000000;
        assert_int_equal(pace_moved(&pace, 1000000, clock_read), 1);
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
