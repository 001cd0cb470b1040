/* tests/unit/server/standby_test.c - when hoopd ends by itself */

#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "standby.h"

static const struct coordinator_member_counts nobody_came = {0, 0};
static const struct coordinator_member_counts nobody_left = {0, 3};
static const struct coordinator_member_counts some = {2, 3};

static void
first_member_has_time_to_come(void **state)
{
    struct idle_shutdown idle_shutdown;

    idle_shutdown_init(&idle_shutdown, 5, -1);
    const uint64_t now_ns = clock_now_ns();
    assert_false(idle_shutdown_is_due(&idle_shutdown, &nobody_came, now_ns));
    assert_true(idle_shutdown_is_due(&idle_shutdown, &nobody_came,
                                     now_ns + 5 * CLOCK_NS_PER_S));
}

static void
last_member_ends_it(void **state)
{
    struct idle_shutdown idle_shutdown;

    idle_shutdown_init(&idle_shutdown, 5, -1);
    const uint64_t now_ns = clock_now_ns();
    assert_false(idle_shutdown_is_due(&idle_shutdown, &some,
                                      now_ns + 3600 * CLOCK_NS_PER_S));
    assert_true(idle_shutdown_is_due(&idle_shutdown, &nobody_left, now_ns));
}

static void
starter_that_holds_the_input_keeps_it(void **state)
{
    struct idle_shutdown idle_shutdown;
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    idle_shutdown_init(&idle_shutdown, 1, ends[0]);
    const uint64_t late_ns = clock_now_ns() + 3600 * CLOCK_NS_PER_S;
    assert_int_equal(write(ends[1], "text\n", 5), 5);
    assert_false(idle_shutdown_is_due(&idle_shutdown, &nobody_came, late_ns));
    assert_false(idle_shutdown_is_due(&idle_shutdown, &nobody_left, late_ns));
    close(ends[1]);
    assert_false(idle_shutdown_is_due(&idle_shutdown, &some, late_ns));
    /* Nobody else comes, since nobody else was told of it. */
    assert_true(
        idle_shutdown_is_due(&idle_shutdown, &nobody_came, clock_now_ns()));
    close(ends[0]);
}

static void
input_that_is_no_pipe_says_nothing(void **state)
{
    struct idle_shutdown idle_shutdown;

    const int fd = open("/dev/null", O_RDONLY);
    assert_true(fd >= 0);
    idle_shutdown_init(&idle_shutdown, 1, fd);
    assert_true(
        idle_shutdown_is_due(&idle_shutdown, &nobody_left, clock_now_ns()));
    close(fd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_member_has_time_to_come),
        cmocka_unit_test(last_member_ends_it),
        cmocka_unit_test(starter_that_holds_the_input_keeps_it),
        cmocka_unit_test(input_that_is_no_pipe_says_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
