/* tests/unit/common/base/interrupt_test.c - base/interrupt.c */

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "check.h"

static bool
answer(void *context)
{
    return *(bool *)context;
}

static int
tear_down(void **state)
{
    interrupt_set(NULL, NULL);
    return 0;
}

static void
nobody_is_asked_at_first(void **state)
{
    assert_true(interrupt_due_ns() == CLOCK_NEVER);
    assert_false(interrupt_check_now());
}

static void
first_question_comes_after_a_pause(void **state)
{
    bool is_over = false;

    const uint64_t before_ns = clock_now_ns();
    interrupt_set(answer, &is_over);
    assert_true(interrupt_due_ns() >= before_ns + 50 * CLOCK_NS_PER_MS);
    assert_false(interrupt_check_now());
    assert_true(interrupt_due_ns() >= before_ns + 50 * CLOCK_NS_PER_MS);
}

/* What else a call waits for is given up at once; the next call waits again. */
static void
after_yes_the_next_question_comes_at_once(void **state)
{
    bool is_over = true;

    interrupt_set(answer, &is_over);
    assert_true(interrupt_check_now());
    assert_true(clock_is_past(interrupt_due_ns()));
    assert_true(interrupt_check_now());
    is_over = false;
    assert_false(interrupt_check_now());
    assert_false(clock_is_past(interrupt_due_ns()));
}

static void
who_is_set_anew_has_not_answered(void **state)
{
    bool is_over = true;

    interrupt_set(answer, &is_over);
    assert_true(interrupt_check_now());
    interrupt_set(answer, &is_over);
    assert_false(clock_is_past(interrupt_due_ns()));
}

static void
interrupted_wait_is_cancelled(void **state)
{
    assert_int_equal(interrupt_raise(), HOOP_E_CANCELLED);
    assert_non_null(strstr(error_text(), "interrupted by this program"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(nobody_is_asked_at_first, tear_down),
        cmocka_unit_test_teardown(first_question_comes_after_a_pause,
                                  tear_down),
        cmocka_unit_test_teardown(after_yes_the_next_question_comes_at_once,
                                  tear_down),
        cmocka_unit_test_teardown(who_is_set_anew_has_not_answered, tear_down),
        cmocka_unit_test(interrupted_wait_is_cancelled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
