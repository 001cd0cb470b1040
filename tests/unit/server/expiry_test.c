/* tests/unit/server/expiry_test.c - expiry.c */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "certificates.h"
#include "check.h"
#include "expiry.h"
#include "temporary.h"

enum {
    HOUR_S = 60 * 60,
    DAY_S = 24 * HOUR_S,
};

/* Of one that is valid for n_days, with left_s of them left. */
static void
expect(int n_days, int64_t left_s, const char *text)
{
    const struct expiry expiry = {
        .path = "/etc/host.pem",
        .valid_from_s = 1800000000 - n_days * (int64_t)DAY_S,
        .valid_until_s = 1800000000,
    };
    char said[LIMIT_ERROR_TEXT] = "";

    assert_int_equal(
        cert_expiry_describe(&expiry, expiry.valid_until_s - left_s, said),
        text != NULL);
    assert_string_equal(said, text ? text : "");
}

static void
expiry_is_told_in_the_last_third_and_30_days(void **state)
{
    expect(400, 30 * DAY_S, NULL);
    expect(400, 30 * DAY_S - 1,
           "certificate /etc/host.pem expires in 29 days (2027-01-15 08:00:00 "
           "UTC): renew it, and start hoopd again");
    expect(400, DAY_S,
           "certificate /etc/host.pem expires in 1 day (2027-01-15 08:00:00 "
           "UTC): renew it, and start hoopd again");
    expect(3, DAY_S, NULL);
    expect(3, DAY_S - 1,
           "certificate /etc/host.pem expires in 23 hours (2027-01-15 08:00:00 "
           "UTC): renew it, and start hoopd again");
    expect(3, 60,
           "certificate /etc/host.pem expires within an hour (2027-01-15 "
           "08:00:00 UTC): renew it, and start hoopd again");
    expect(3, -1,
           "certificate /etc/host.pem has expired (2027-01-15 08:00:00 UTC): "
           "renew it, and start hoopd again");
}

/* How many lines of the log say so when watch looks. */
static unsigned
lines_of(struct cert_expiry_watch *watch, int64_t now_s)
{
    char path[TEMPORARY_PATH] = "hoop_expiry.XXXXXX";
    const int fd = temporary_file(path, sizeof(path));
    const int before = dup(STDERR_FILENO);
    static char text[4096];
    unsigned n_lines = 0;

    assert_true(fd >= 0 && before >= 0);
    fflush(stderr);
    assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    cert_expiry_watch_warn(watch, now_s);
    assert_int_equal(dup2(before, STDERR_FILENO), STDERR_FILENO);
    close(before);
    const ssize_t n_bytes = pread(fd, text, sizeof(text) - 1, 0);

    assert_true(n_bytes >= 0);
    text[n_bytes] = '\0';
    close(fd);
    unlink(path);
    for (const char *at = text; (at = strstr(at, " expires in 10 days ("));
         at++)
        n_lines++;
    return n_lines;
}

/* Of both ports, at the start and a day later. */
static void
watch_tells_at_the_start_and_daily(void **state)
{
    char folder[TEMPORARY_PATH] = "hoop_expiry.XXXXXX";
    char path[TEMPORARY_PATH + 32];
    char other[TEMPORARY_PATH + 32];
    struct cert_expiry_watch watch;

    assert_non_null(temporary_folder(folder, sizeof(folder)));
    static const char *const names[] = {"host", "http"};
    for (size_t i = 0; i < 2; i++)
        assert_ok(certificate_write(&(struct certificate_order){
            .folder = folder,
            .name = names[i],
            .begins_s = -100 * DAY_S,
            .ends_s = 10 * DAY_S + HOUR_S,
        }));
    snprintf(path, sizeof(path), "%s/host.pem", folder);
    snprintf(other, sizeof(other), "%s/http.pem", folder);
    const int64_t now_s = time(NULL);
    struct hoop_coordinator_options options = {
        .tls = "on",
        .tls_cert = path,
        .http_tls = "on",
    };

    log_configure(LOG_WARNING, LOG_TEXT);
    /* It is the same for both. */
    cert_expiry_watch_init(&watch, &options);
    assert_int_equal(lines_of(&watch, now_s), 1);
    assert_int_equal(lines_of(&watch, now_s + DAY_S - 1), 0);
    options.http_tls_cert = other;
    cert_expiry_watch_init(&watch, &options);
    assert_int_equal(lines_of(&watch, now_s - DAY_S / 2), 2);
    assert_int_equal(lines_of(&watch, now_s), 0);
    assert_int_equal(lines_of(&watch, now_s - DAY_S / 2 + DAY_S - 1), 0);
    /* Of a day later, and with a clock that was set back meanwhile. */
    watch.last_checked_s -= DAY_S;
    assert_int_equal(lines_of(&watch, now_s), 2);
    watch.last_checked_s += 5 * DAY_S;
    assert_int_equal(lines_of(&watch, now_s), 2);
    options.tls = options.http_tls = "off";
    cert_expiry_watch_init(&watch, &options);
    assert_int_equal(lines_of(&watch, now_s), 0);
    for (size_t i = 0; i < 2; i++) {
        char file[2 * sizeof(path)];

        snprintf(file, sizeof(file), "%s/%s.pem", folder, names[i]);
        unlink(file);
        snprintf(file, sizeof(file), "%s/%s.key", folder, names[i]);
        unlink(file);
    }
    rmdir(folder);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expiry_is_told_in_the_last_third_and_30_days),
        cmocka_unit_test(watch_tells_at_the_start_and_daily),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
