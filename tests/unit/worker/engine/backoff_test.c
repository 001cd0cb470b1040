/* tests/unit/worker/engine/backoff_test.c - engine/wait_policy.c */

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "engine/wait_policy.h"

static void
backoff_spins_for_a_while_and_sleeps_then(void **state)
{
    struct backoff backoff = {0};
    const uint64_t begin_ns = clock_now_ns();

    (void)state;
    assert_int_equal(backoff_next_action(&backoff, WAIT_POLICY_SPIN, 0),
                     WAIT_ACTION_POLL);
    while (backoff_next_action(&backoff, WAIT_POLICY_SPIN, 0) ==
           WAIT_ACTION_POLL)
        ;
    assert_true(clock_now_ns() - begin_ns >= 10000);
    assert_int_equal(backoff_next_action(&backoff, WAIT_POLICY_SPIN, 0),
                     WAIT_ACTION_SLEEP);
    backoff_reset(&backoff);
    assert_int_equal(backoff_next_action(&backoff, WAIT_POLICY_SPIN, 0),
                     WAIT_ACTION_POLL);
}

static void
backoff_yields_for_a_while_and_sleeps_then(void **state)
{
    struct backoff backoff = {0};
    const uint64_t begin_ns = clock_now_ns();

    (void)state;
    while (backoff_next_action(&backoff, WAIT_POLICY_YIELD, 0) ==
           WAIT_ACTION_YIELD)
        ;
    assert_true(clock_now_ns() - begin_ns >= 10000);
    assert_int_equal(backoff_next_action(&backoff, WAIT_POLICY_YIELD, 0),
                     WAIT_ACTION_SLEEP);
    backoff_reset(&backoff);
    assert_int_equal(backoff_next_action(&backoff, WAIT_POLICY_YIELD, 0),
                     WAIT_ACTION_YIELD);
}

static void
backoff_lasts_longer_where_others_have_work(void **state)
{
    static const enum wait_policy rules[] = {WAIT_POLICY_SPIN,
                                             WAIT_POLICY_YIELD};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct backoff backoff = {0};
        const uint64_t begin_ns = clock_now_ns();

        while (backoff_next_action(&backoff, rules[i], 2000000) !=
               WAIT_ACTION_SLEEP)
            ;
        assert_true(clock_now_ns() - begin_ns >= 2000000);
    }
}

/* Others may have had the processor for long each time. */
static void
backoff_yields_a_few_times_whatever_they_take(void **state)
{
    struct backoff backoff = {0};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t begin_ns = clock_now_ns();

        assert_int_equal(backoff_next_action(&backoff, WAIT_POLICY_YIELD, 0),
                         WAIT_ACTION_YIELD);
        while (clock_now_ns() - begin_ns < 100000)
            ;
    }
}

/* Offers the processor fewer times, for that long if nobody takes it. */
static void
backoff_of_very_many_yields_briefly(void **state)
{
    unsigned n_yields[] = {0, 0};
    static const enum wait_policy rules[] = {WAIT_POLICY_YIELD,
                                             WAIT_POLICY_YIELD_BRIEFLY};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        struct backoff backoff = {0};

        while (backoff_next_action(&backoff, rules[i], 0) ==
               WAIT_ACTION_YIELD) {
            const uint64_t begin_ns = clock_now_ns();

            n_yields[i]++;
            while (clock_now_ns() - begin_ns < 100000)
                ;
        }
    }
    assert_true(n_yields[1] > 0);
    assert_true(n_yields[1] < n_yields[0] / 2);
}

static void
backoff_that_sleeps_never_looks(void **state)
{
    struct backoff backoff = {0};

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(backoff_next_action(&backoff, WAIT_POLICY_SLEEP, 0),
                         WAIT_ACTION_SLEEP);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(backoff_spins_for_a_while_and_sleeps_then),
        cmocka_unit_test(backoff_yields_for_a_while_and_sleeps_then),
        cmocka_unit_test(backoff_lasts_longer_where_others_have_work),
        cmocka_unit_test(backoff_yields_a_few_times_whatever_they_take),
        cmocka_unit_test(backoff_of_very_many_yields_briefly),
        cmocka_unit_test(backoff_that_sleeps_never_looks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
