/* tests/unit/worker/engine/past_test.c - engine/past.c */

#include "check.h"
#include "engine/past.h"

static struct past past;

static int
past_set_up(void **state)
{
    (void)state;
    past = (struct past){0};
    return 0;
}

static void
add(uint64_t number, bool has_failed)
{
    past_add(&past, &(struct past_op){
                        .number = number,
                        .signatures = {number + 1000},
                        .has_failed = has_failed,
                    });
}

static void
past_keeps_the_last_operations(void **state)
{
    (void)state;
    assert_null(past_find(&past, 1));
    for (uint64_t number = 1; number <= PAST_OPS + 3; number++)
        add(number, false);
    assert_null(past_find(&past, 3));
    assert_int_equal(past_find(&past, 4)->signatures[0], 1004);
    assert_int_equal(past_find(&past, PAST_OPS + 3)->number, PAST_OPS + 3);
    assert_null(past_find(&past, PAST_OPS + 4));
}

static void
past_learns_of_a_failure_once(void **state)
{
    (void)state;
    add(1, false);
    add(2, true);
    assert_false(past_has_failed(&past, 1));
    assert_true(past_has_failed(&past, 2));
    assert_false(past_fail(&past, 2));
    assert_true(past_fail(&past, 1));
    assert_true(past_has_failed(&past, 1));
    assert_false(past_fail(&past, 1));
}

static void
past_that_is_forgotten_failed_at_most_once(void **state)
{
    (void)state;
    for (uint64_t number = 1; number <= 2 * PAST_OPS; number++)
        add(number, number == 5);
    /* Nothing is known of 4: all is said of what is not newer than 5. */
    assert_true(past_has_failed(&past, 4));
    assert_true(past_has_failed(&past, 5));
    assert_false(past_has_failed(&past, 6));
    assert_true(past_fail(&past, 6));
    assert_false(past_fail(&past, 6));
    /* It takes no other's place. */
    assert_false(past_has_failed(&past, 6 + PAST_OPS));
}

#define PAST_TEST(name) cmocka_unit_test_setup(name, past_set_up)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        PAST_TEST(past_keeps_the_last_operations),
        PAST_TEST(past_learns_of_a_failure_once),
        PAST_TEST(past_that_is_forgotten_failed_at_most_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
