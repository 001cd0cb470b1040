/* tests/unit/worker/engine/failure/op_history_test.c - engine/failure/op_history.c */

#include "check.h"
#include "engine/failure/op_history.h"

static struct op_history op_history;

static int
op_history_set_up(void **state)
{
    (void)state;
    op_history = (struct op_history){0};
    return 0;
}

static void
add(uint64_t number, bool has_failed)
{
    op_history_add(&op_history, &(struct op_history_entry){
                                    .number = number,
                                    .signatures = {number + 1000},
                                    .has_failed = has_failed,
                                });
}

static void
op_history_keeps_the_last_operations(void **state)
{
    (void)state;
    assert_null(op_history_find(&op_history, 1));
    for (uint64_t number = 1; number <= OP_HISTORY_ENTRIES + 3; number++)
        add(number, false);
    assert_null(op_history_find(&op_history, 3));
    assert_int_equal(op_history_find(&op_history, 4)->signatures[0], 1004);
    assert_int_equal(
        op_history_find(&op_history, OP_HISTORY_ENTRIES + 3)->number,
        OP_HISTORY_ENTRIES + 3);
    assert_null(op_history_find(&op_history, OP_HISTORY_ENTRIES + 4));
}

static void
op_history_learns_of_a_failure_once(void **state)
{
    (void)state;
    add(1, false);
    add(2, true);
    assert_false(op_history_has_failed(&op_history, 1));
    assert_true(op_history_has_failed(&op_history, 2));
    assert_false(op_history_mark_failed(&op_history, 2));
    assert_true(op_history_mark_failed(&op_history, 1));
    assert_true(op_history_has_failed(&op_history, 1));
    assert_false(op_history_mark_failed(&op_history, 1));
}

static void
op_history_that_is_forgotten_failed_at_most_once(void **state)
{
    (void)state;
    for (uint64_t number = 1; number <= 2 * OP_HISTORY_ENTRIES; number++)
        add(number, number == 5);
    /* Nothing is known of 4: all is said of what is not newer than 5. */
    assert_true(op_history_has_failed(&op_history, 4));
    assert_true(op_history_has_failed(&op_history, 5));
    assert_false(op_history_has_failed(&op_history, 6));
    assert_true(op_history_mark_failed(&op_history, 6));
    assert_false(op_history_mark_failed(&op_history, 6));
    /* It takes no other's place. */
    assert_false(op_history_has_failed(&op_history, 6 + OP_HISTORY_ENTRIES));
}

#define OP_HISTORY_TEST(name) cmocka_unit_test_setup(name, op_history_set_up)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        OP_HISTORY_TEST(op_history_keeps_the_last_operations),
        OP_HISTORY_TEST(op_history_learns_of_a_failure_once),
        OP_HISTORY_TEST(op_history_that_is_forgotten_failed_at_most_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
