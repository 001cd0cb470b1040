/* tests/unit/common/base/log_quota_test.c - base/log.c */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "check.h"

static const uint64_t period_ns = LIMIT_UNAUTHENTICATED_MS * CLOCK_NS_PER_MS;

/* What a period that is over says on standard error; NULL: nothing. */
static void
assert_said(struct log_quota *quota, uint64_t now_ns, const char *expected)
{
    char text[256] = "";
    int pipes[2];

    assert_int_equal(pipe(pipes), 0);
    const int former = dup(STDERR_FILENO);
    dup2(pipes[1], STDERR_FILENO);
    close(pipes[1]);
    log_quota_report(quota, "rpc", now_ns);
    dup2(former, STDERR_FILENO);
    close(former);
    const ssize_t n = read(pipes[0], text, sizeof(text) - 1);
    close(pipes[0]);
    assert_true(n >= 0);
    if (expected)
        assert_non_null(strstr(text, expected));
    else
        assert_int_equal(n, 0);
}

static void
quota_lets_the_first_lines_through(void **state)
{
    struct log_quota quota = {0};
    uint64_t now_ns = CLOCK_NS_PER_S;

    for (int period = 0; period < 3; period++) {
        for (int i = 0; i < LIMIT_UNAUTHENTICATED_LINES; i++)
            assert_true(log_quota_take(&quota, "rpc", now_ns + (uint64_t)i));
        now_ns += period_ns;
    }
    assert_said(&quota, now_ns, NULL);
}

static void
quota_counts_the_rest_and_tells_it_once(void **state)
{
    struct log_quota quota = {0};
    const uint64_t now_ns = CLOCK_NS_PER_S;

    for (int i = 0; i < LIMIT_UNAUTHENTICATED_LINES + 1000; i++)
        assert_int_equal(log_quota_take(&quota, "rpc", now_ns),
                         i < LIMIT_UNAUTHENTICATED_LINES);
    assert_said(&quota, now_ns - 1, NULL);
    assert_said(&quota, now_ns + period_ns - 1, NULL);
    assert_said(&quota, now_ns + period_ns, "1000 more such lines in 10 s");
    assert_said(&quota, now_ns + 3 * period_ns, NULL);
    assert_true(log_quota_take(&quota, "rpc", now_ns + 3 * period_ns));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quota_lets_the_first_lines_through),
        cmocka_unit_test(quota_counts_the_rest_and_tells_it_once),
    };

    log_configure(LOG_WARNING, LOG_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
