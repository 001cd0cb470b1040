/* tests/unit/server/service/notices_test.c - service/service.c */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "check.h"
#include "service/service.h"

enum {
    TEXT_MAX = 64 * 1024,
};

/* Standard error goes into a pipe until caught. */
struct catcher {
    int former;
    int pipes[2];
};

static void
catcher_start(struct catcher *catcher)
{
    assert_int_equal(pipe(catcher->pipes), 0);
    catcher->former = dup(STDERR_FILENO);
    dup2(catcher->pipes[1], STDERR_FILENO);
    close(catcher->pipes[1]);
}

static void
catcher_stop(struct catcher *catcher, char text[TEXT_MAX])
{
    size_t n_text = 0;
    ssize_t n;

    dup2(catcher->former, STDERR_FILENO);
    close(catcher->former);
    while ((n = read(catcher->pipes[0], text + n_text, TEXT_MAX - 1 - n_text)) >
           0)
        n_text += (size_t)n;
    text[n_text] = '\0';
    close(catcher->pipes[0]);
}

static unsigned
lines(const char *text, const char *part)
{
    unsigned n = 0;

    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

static void
notices_of_jobs_are_all_told(void **state)
{
    static char text[TEXT_MAX];
    struct notices notices = {0};
    struct catcher catcher;
    const struct cluster_log_notice notice = {
        .kind = CLUSTER_NOTICE_JOINED,
        .text = "h:1 joins",
    };

    catcher_start(&catcher);
    for (int i = 0; i < 2 * LIMIT_UNAUTHENTICATED_LINES; i++)
        client_notice_log(&notices, &notice, ROLE_ANYBODY, "10.0.0.1:2");
    catcher_stop(&catcher, text);
    assert_int_equal(lines(text, "h:1 joins"), 2 * LIMIT_UNAUTHENTICATED_LINES);
    assert_null(strstr(text, "10.0.0.1"));
}

static void
refusals_of_a_flood_are_counted(void **state)
{
    static char text[TEXT_MAX];
    struct notices notices = {0};
    struct catcher catcher;
    const struct cluster_log_notice notice = {
        .kind = CLUSTER_NOTICE_REFUSED,
        .text = "a wrong token",
    };

    catcher_start(&catcher);
    client_notice_log(&notices, &notice, ROLE_ANYBODY, "10.0.0.1:2");
    (void)error_raise(HOOP_E_INVALID, "no such body");
    notices_log_refusal(&notices, "hoop.v1.Store/Set", "10.0.0.1:3");
    for (int i = 2; i < LIMIT_UNAUTHENTICATED_LINES + 500; i++)
        client_notice_log(&notices, &notice,
                          i % 2 ? ROLE_ANYBODY : ROLE_OPERATOR, "10.0.0.1:2");
    notices_log_suppressed(&notices, clock_now_ns());
    client_notice_log(&notices, &notice, ROLE_WORKER, "10.0.0.4:4");
    notices_log_suppressed(&notices, clock_now_ns() + LIMIT_UNAUTHENTICATED_MS *
                                                          CLOCK_NS_PER_MS);
    catcher_stop(&catcher, text);
    assert_int_equal(lines(text, "a wrong token (asked by 10.0.0.1:2)"),
                     LIMIT_UNAUTHENTICATED_LINES - 1);
    assert_int_equal(lines(text, "Store/Set from 10.0.0.1:3 refused: no such "
                                 "body"),
                     1);
    assert_int_equal(lines(text, "500 more such lines"), 1);
    assert_int_equal(lines(text, "asked by 10.0.0.4:4"), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notices_of_jobs_are_all_told),
        cmocka_unit_test(refusals_of_a_flood_are_counted),
    };

    log_configure(LOG_INFO, LOG_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
