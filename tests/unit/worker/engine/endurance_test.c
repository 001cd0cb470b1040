/* tests/unit/worker/engine/endurance_test.c - engine/endurance.c */

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "engine/endurance.h"

static void
endurance_spins_for_a_while_and_sleeps_then(void **state)
{
    struct endurance endurance = {0};
    const uint64_t begin_ns = clock_now_ns();

    (void)state;
    assert_int_equal(endurance_advise(&endurance, ENDURANCE_SPINS, 0),
                     ENDURANCE_LOOK);
    while (endurance_advise(&endurance, ENDURANCE_SPINS, 0) == ENDURANCE_LOOK)
        ;
    assert_true(clock_now_ns() - begin_ns >= 10000);
    assert_int_equal(endurance_advise(&endurance, ENDURANCE_SPINS, 0),
                     ENDURANCE_SLEEP);
    endurance_renew(&endurance);
    assert_int_equal(endurance_advise(&endurance, ENDURANCE_SPINS, 0),
                     ENDURANCE_LOOK);
}

static void
endurance_yields_for_a_while_and_sleeps_then(void **state)
{
    struct endurance endurance = {0};
    const uint64_t begin_ns = clock_now_ns();

    (void)state;
    while (endurance_advise(&endurance, ENDURANCE_YIELDS, 0) == ENDURANCE_YIELD)
        ;
    assert_true(clock_now_ns() - begin_ns >= 10000);
    assert_int_equal(endurance_advise(&endurance, ENDURANCE_YIELDS, 0),
                     ENDURANCE_SLEEP);
    endurance_renew(&endurance);
    assert_int_equal(endurance_advise(&endurance, ENDURANCE_YIELDS, 0),
                     ENDURANCE_YIELD);
}

static void
endurance_lasts_longer_where_others_have_work(void **state)
{
    static const enum endurance_rule rules[] = {ENDURANCE_SPINS,
                                                ENDURANCE_YIELDS};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct endurance endurance = {0};
        const uint64_t begin_ns = clock_now_ns();

        while (endurance_advise(&endurance, rules[i], 2000000) !=
               ENDURANCE_SLEEP)
            ;
        assert_true(clock_now_ns() - begin_ns >= 2000000);
    }
}

/* Others may have had the processor for long each time. */
static void
endurance_yields_a_few_times_whatever_they_take(void **state)
{
    struct endurance endurance = {0};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t begin_ns = clock_now_ns();

        assert_int_equal(endurance_advise(&endurance, ENDURANCE_YIELDS, 0),
                         ENDURANCE_YIELD);
        while (clock_now_ns() - begin_ns < 100000)
            ;
    }
}

/* Offers the processor fewer times, for that long if nobody takes it. */
static void
endurance_of_very_many_yields_briefly(void **state)
{
    unsigned n_yields[] = {0, 0};
    static const enum endurance_rule rules[] = {ENDURANCE_YIELDS,
                                                ENDURANCE_YIELDS_BRIEFLY};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        struct endurance endurance = {0};

        while (endurance_advise(&endurance, rules[i], 0) == ENDURANCE_YIELD) {
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
endurance_that_sleeps_never_looks(void **state)
{
    struct endurance endurance = {0};

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(endurance_advise(&endurance, ENDURANCE_SLEEPS, 0),
                         ENDURANCE_SLEEP);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(endurance_spins_for_a_while_and_sleeps_then),
        cmocka_unit_test(endurance_yields_for_a_while_and_sleeps_then),
        cmocka_unit_test(endurance_lasts_longer_where_others_have_work),
        cmocka_unit_test(endurance_yields_a_few_times_whatever_they_take),
        cmocka_unit_test(endurance_of_very_many_yields_briefly),
        cmocka_unit_test(endurance_that_sleeps_never_looks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
