/* tests/checker/checker_run_test.c - checker/checker_run.c */

#include "algorithms/algorithms.h"
#include "check.h"
#include "checker/checker.h"

static const struct checker_case sum = {
    .algorithm = &algorithm_allreduce_ring,
    .goal = CHECKER_ALLREDUCE,
    .shape = {.size = 4, .count = 9, .granule = 2, .is_in_place = true},
};

static void
checker_run_run_any_buffer_and_seed_ends_right(void **state)
{
    struct checker_run *checker_run = NULL;
    struct checker_messages checker_messages = {0};

    (void)state;
    assert_int_equal(checker_messages_build(&checker_messages, &sum), HOOP_OK);
    assert_int_equal(checker_run_create(&sum, &checker_messages, &checker_run),
                     HOOP_OK);
    for (uint64_t seed = 0; seed < 100; seed++) {
        assert_int_equal(checker_run_one_schedule(checker_run, 0, seed),
                         HOOP_OK);
        assert_int_equal(checker_run_one_schedule(checker_run, 1, seed),
                         HOOP_OK);
        assert_int_equal(
            checker_run_one_schedule(checker_run, UINT64_MAX, seed), HOOP_OK);
    }
    checker_run_destroy(checker_run);
    checker_messages_deinit(&checker_messages);
}

static void
checker_run_destroy_null_is_fine(void **state)
{
    (void)state;
    checker_run_destroy(NULL);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(checker_run_run_any_buffer_and_seed_ends_right),
        cmocka_unit_test(checker_run_destroy_null_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
