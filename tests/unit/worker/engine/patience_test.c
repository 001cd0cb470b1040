/* tests/unit/worker/engine/patience_test.c - engine/patience.c */

#include "base/clock.h"
#include "check.h"
#include "engine/patience.h"

static void
patience_spins_for_a_while_and_sleeps_then(void **state)
{
    struct patience patience = {0};
    const uint64_t begin_ns = clock_now_ns();

    (void)state;
    assert_int_equal(patience_advise(&patience, PATIENCE_SPINS), PATIENCE_LOOK);
    while (patience_advise(&patience, PATIENCE_SPINS) == PATIENCE_LOOK)
        ;
    assert_true(clock_now_ns() - begin_ns >= 10000);
    assert_int_equal(patience_advise(&patience, PATIENCE_SPINS),
                     PATIENCE_SLEEP);
    patience_renew(&patience);
    assert_int_equal(patience_advise(&patience, PATIENCE_SPINS), PATIENCE_LOOK);
}

static void
patience_yields_a_few_times_and_sleeps_then(void **state)
{
    struct patience patience = {0};
    unsigned n_yields = 0;

    (void)state;
    while (patience_advise(&patience, PATIENCE_YIELDS) == PATIENCE_YIELD)
        n_yields++;
    assert_in_range(n_yields, 1, 100);
    assert_int_equal(patience_advise(&patience, PATIENCE_YIELDS),
                     PATIENCE_SLEEP);
    patience_renew(&patience);
    assert_int_equal(patience_advise(&patience, PATIENCE_YIELDS),
                     PATIENCE_YIELD);
}

static void
patience_that_sleeps_never_looks(void **state)
{
    struct patience patience = {0};

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(patience_advise(&patience, PATIENCE_SLEEPS),
                         PATIENCE_SLEEP);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(patience_spins_for_a_while_and_sleeps_then),
        cmocka_unit_test(patience_yields_a_few_times_and_sleeps_then),
        cmocka_unit_test(patience_that_sleeps_never_looks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
