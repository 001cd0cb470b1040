/* tests/unit/common/net/accept_pause_test.c - net/socket.c */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "check.h"
#include "net/socket.h"

/* What is written to standard error meanwhile. */
struct capture {
    int former;
    int pipes[2];
};

static struct capture
capture_begin(void)
{
    struct capture capture = {.former = dup(STDERR_FILENO)};

    assert_int_equal(pipe(capture.pipes), 0);
    dup2(capture.pipes[1], STDERR_FILENO);
    close(capture.pipes[1]);
    return capture;
}

static size_t
capture_end(struct capture *capture, char *out_text, size_t n_text)
{
    dup2(capture->former, STDERR_FILENO);
    close(capture->former);
    const ssize_t n = read(capture->pipes[0], out_text, n_text - 1);

    close(capture->pipes[0]);
    assert_true(n >= 0);
    out_text[n] = '\0';
    return (size_t)n;
}

static size_t
count(const char *text, const char *word)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
        n++;
    return n;
}

static void
pause_is_needed_where_nothing_can_be_accepted(void **state)
{
    static const int needed[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM};
    static const int others[] = {0, EAGAIN, EINTR, ECONNABORTED, EPERM};

    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
        assert_true(accept_pause_is_needed(needed[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(accept_pause_is_needed(others[i]));
}

/* A loop without descriptors for two hours writes a line a minute, which says
 * what is missing, what the limit is, and how often it has paused. */
static void
pauses_of_two_hours_log_one_line_a_minute(void **state)
{
    enum {
        MINUTES = 120,
    };
    static char text[MINUTES * 512];
    struct accept_pause pause = {0};
    struct capture capture = capture_begin();
    const uint64_t end_ns = (uint64_t)MINUTES * 60 * CLOCK_NS_PER_S;
    uint64_t now_ns = 1;

    while (now_ns < end_ns) {
        const uint64_t ms =
            accept_pause_begin(&pause, "RPC port", strerror(EMFILE), now_ns);

        assert_true(ms >= 50 && ms <= 500);
        now_ns += ms * CLOCK_NS_PER_MS;
    }
    capture_end(&capture, text, sizeof(text));
    assert_int_equal(count(text, "\n"), MINUTES);
    assert_int_equal(count(text, "the RPC port cannot take"), MINUTES);
    assert_int_equal(count(text, "Too many open files"), MINUTES);
    assert_int_equal(count(text, "(1 pauses"), 1);
    assert_int_equal(count(text, "(600 pauses"), MINUTES - 1);
}

static void
pause_line_names_the_limit_of_descriptors(void **state)
{
    struct accept_pause pause = {0};
    struct rlimit former;
    struct rlimit limit;
    char text[512];

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &former), 0);
    limit = former;
    limit.rlim_cur = 321;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    struct capture capture = capture_begin();
    accept_pause_begin(&pause, "HTTP port", strerror(EMFILE), 1);
    capture_end(&capture, text, sizeof(text));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &former), 0);
    assert_non_null(strstr(text, "321 descriptors"));
    assert_non_null(strstr(text, "HTTP port"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pause_is_needed_where_nothing_can_be_accepted),
        cmocka_unit_test(pauses_of_two_hours_log_one_line_a_minute),
        cmocka_unit_test(pause_line_names_the_limit_of_descriptors),
    };

    log_configure(LOG_WARNING, LOG_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
