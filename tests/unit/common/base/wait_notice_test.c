/* tests/unit/common/base/wait_notice_test.c - who waits long says for what */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "check.h"

/* What one line is on standard error, behind its time. */
static void
said(struct wait_notice *notice, const char *what, char out_line[512])
{
    const int kept = dup(STDERR_FILENO);
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    wait_notice_log(notice, what);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(ends[1]);
    const ssize_t n_bytes = read(ends[0], out_line, 511);
    close(ends[0]);
    assert_true(n_bytes > 0);
    out_line[n_bytes] = '\0';
}

static void
wait_notice_tells_since_when_and_until_when(void **state)
{
    struct wait_notice notice;
    char text[LIMIT_ERROR_TEXT];

    wait_notice_begin(&notice, 1000, "HOOP_JOIN_TIMEOUT", 60000);
    wait_notice_format(&notice, notice.began_ns + CLOCK_NS_PER_S,
                       "waiting for hoopd", text);
    assert_string_equal(
        text, "waiting for hoopd (since 1.0 s; HOOP_JOIN_TIMEOUT allows 60 s)");
    wait_notice_begin(&notice, 50, "HOOP_TIMEOUT", 2500);
    wait_notice_format(&notice, notice.began_ns + 90 * CLOCK_NS_PER_S, "x",
                       text);
    assert_string_equal(text, "x (since 90.0 s; HOOP_TIMEOUT allows 2.5 s)");
    wait_notice_begin(&notice, 50, NULL, 0);
    wait_notice_format(&notice, notice.began_ns + CLOCK_NS_PER_S, "x", text);
    assert_string_equal(text, "x (since 1.0 s)");
}

static void
wait_notice_that_is_too_long_still_ends(void **state)
{
    static const char end[] = " (since 0.0 s; HOOP_TIMEOUT allows 1 s)";
    struct wait_notice notice;
    char what[2000];
    char text[LIMIT_ERROR_TEXT];

    memset(what, 'x', sizeof(what));
    what[sizeof(what) - 1] = '\0';
    wait_notice_begin(&notice, 1, "HOOP_TIMEOUT", 1000);
    wait_notice_format(&notice, notice.began_ns, what, text);
    assert_string_equal(text + strlen(text) - strlen(end), end);
}

static void
wait_notice_is_one_line_of_the_log(void **state)
{
    struct wait_notice notice;
    char line[512];

    wait_notice_begin(&notice, 1, "HOOP_JOIN_TIMEOUT", 60000);
    said(&notice, "two\nlines", line);
    assert_non_null(
        strstr(line, "Z hoop warning wait: two\\u000alines (since "));
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

/* 1, 3, 7, 15, 31, 63 s after the wait began, then every minute. */
static void
wait_notice_comes_ever_more_rarely(void **state)
{
    static const uint64_t pauses_s[] = {1, 2, 4, 8, 16, 32, 60, 60};
    struct wait_notice notice;
    char line[512];

    wait_notice_begin(&notice, 1000, "HOOP_JOIN_TIMEOUT", 60000);
    assert_int_equal(notice.due_ns, notice.began_ns + CLOCK_NS_PER_S);
    for (size_t i = 0; i < sizeof(pauses_s) / sizeof(pauses_s[0]); i++) {
        const uint64_t pause_ns = pauses_s[i] * CLOCK_NS_PER_S;

        assert_int_equal(notice.pause_ns, pause_ns);
        assert_true(notice.due_ns <= clock_now_ns() + pause_ns);
        said(&notice, "x", line);
        assert_true(notice.due_ns > clock_now_ns());
    }
}

static void
wait_notice_that_nobody_wants_is_never_due(void **state)
{
    struct wait_notice notice;

    wait_notice_begin(&notice, 0, "HOOP_JOIN_TIMEOUT", 60000);
    assert_int_equal(wait_notice_left_ms(&notice), -1);
    wait_notice_begin(&notice, 60000, "HOOP_JOIN_TIMEOUT", 60000);
    assert_true(wait_notice_left_ms(&notice) > 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wait_notice_tells_since_when_and_until_when),
        cmocka_unit_test(wait_notice_that_is_too_long_still_ends),
        cmocka_unit_test(wait_notice_is_one_line_of_the_log),
        cmocka_unit_test(wait_notice_comes_ever_more_rarely),
        cmocka_unit_test(wait_notice_that_nobody_wants_is_never_due),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
