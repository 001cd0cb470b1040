/* tests/unit/common/base/clock_test.c - base/clock.c */

#include <limits.h>

#include "base/clock.h"
#include "check.h"

static void
clock_deadline_saturates_at_never(void **state)
{
    assert_true(clock_deadline_ns(UINT64_MAX) == CLOCK_NEVER);
    assert_true(clock_deadline_ns(UINT64_MAX / CLOCK_NS_PER_MS) == CLOCK_NEVER);
    assert_true(clock_deadline_ns(1000) < CLOCK_NEVER);
}

static void
clock_never_is_never_past(void **state)
{
    assert_false(clock_is_past(CLOCK_NEVER));
    assert_int_equal(clock_left_ms(CLOCK_NEVER), -1);
}

static void
clock_left_is_rounded_up_and_bounded(void **state)
{
    int left_ms = 0;

    assert_int_equal(clock_left_ms(0), 0);
    assert_true(clock_is_past(0));
    assert_in_range(clock_left_ms(clock_deadline_ns(60000)), 1000, 60000);
    /* On a busy machine it may be over before it is looked at: once more. */
    for (int i = 0; i < 100 && left_ms == 0; i++)
        left_ms = clock_left_ms(clock_now_ns() + CLOCK_NS_PER_MS / 2);
    assert_int_equal(left_ms, 1);
    assert_int_equal(clock_left_ms(CLOCK_NEVER - 1), INT_MAX);
}

static void
clock_coarse_is_behind_by_little(void **state)
{
    const uint64_t before_ns = clock_coarse_ns();
    const uint64_t now_ns = clock_now_ns();

    assert_true(before_ns <= now_ns);
    assert_true(now_ns - before_ns < 10 * CLOCK_NS_PER_S);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_deadline_saturates_at_never),
        cmocka_unit_test(clock_never_is_never_past),
        cmocka_unit_test(clock_coarse_is_behind_by_little),
        cmocka_unit_test(clock_left_is_rounded_up_and_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
