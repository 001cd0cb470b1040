/* tests/unit/worker/plan/rehearsal_test.c - plan/rehearsal.c */

#include "check.h"
#include "plan/algorithms.h"
#include "plan/rehearsal.h"

static const struct checker_case sum = {
    .algorithm = &algorithm_allreduce_ring,
    .goal = CHECKER_ALLREDUCE,
    .shape = {.size = 4, .count = 9, .granule = 2, .is_in_place = true},
};

static void
rehearsal_run_any_buffer_and_seed_ends_right(void **state)
{
    struct rehearsal *rehearsal = NULL;
    struct ledger ledger = {0};

    (void)state;
    assert_int_equal(ledger_build(&ledger, &sum), HOOP_OK);
    assert_int_equal(rehearsal_create(&sum, &ledger, &rehearsal), HOOP_OK);
    for (uint64_t seed = 0; seed < 100; seed++) {
        assert_int_equal(rehearsal_run(rehearsal, 0, seed), HOOP_OK);
        assert_int_equal(rehearsal_run(rehearsal, 1, seed), HOOP_OK);
        assert_int_equal(rehearsal_run(rehearsal, UINT64_MAX, seed), HOOP_OK);
    }
    rehearsal_destroy(rehearsal);
    ledger_deinit(&ledger);
}

static void
rehearsal_destroy_null_is_fine(void **state)
{
    (void)state;
    rehearsal_destroy(NULL);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(rehearsal_run_any_buffer_and_seed_ends_right),
        cmocka_unit_test(rehearsal_destroy_null_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
