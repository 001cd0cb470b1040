/* expiry.c - warn about certificates of hoopd that expire soon */

#include "expiry.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/log.h"
#include "net/tls.h"

enum {
    SECONDS_PER_HOUR = 60 * 60,
    SECONDS_PER_DAY = 24 * SECONDS_PER_HOUR,
    EXPIRY_WARNING_DAYS = 30,
};

static void
time_left_describe(int64_t left_s, char text[LIMIT_NAME])
{
    const long long n = left_s >= SECONDS_PER_DAY ? left_s / SECONDS_PER_DAY
                                                  : left_s / SECONDS_PER_HOUR;

    if (left_s < 0)
        snprintf(text, LIMIT_NAME, "has expired");
    else if (left_s < SECONDS_PER_HOUR)
        snprintf(text, LIMIT_NAME, "expires within an hour");
    else
        snprintf(text, LIMIT_NAME, "expires in %lld %s%s", n,
                 left_s >= SECONDS_PER_DAY ? "day" : "hour", n == 1 ? "" : "s");
}

bool
cert_expiry_describe(const struct expiry *expiry,
                     int64_t now_s,
                     char out_text[LIMIT_ERROR_TEXT])
{
    const int64_t left_s = expiry->valid_until_s - now_s;
    const int64_t third_s = (expiry->valid_until_s - expiry->valid_from_s) / 3;
    const time_t ends = (time_t)expiry->valid_until_s;
    struct tm date = {0};
    char left[LIMIT_NAME];
    char end[32] = "";

    if (left_s >= EXPIRY_WARNING_DAYS * SECONDS_PER_DAY || left_s >= third_s)
        return false;
    time_left_describe(left_s, left);
    if (gmtime_r(&ends, &date))
        strftime(end, sizeof(end), "%Y-%m-%d %H:%M:%S", &date);
    snprintf(out_text, LIMIT_ERROR_TEXT,
             "certificate %.700s %s (%s UTC): renew it, and start hoopd again",
             expiry->path, left, end);
    return true;
}

static void
cert_watch_add_file(struct cert_expiry_watch *watch, const char *path)
{
    struct expiry expiry = {.path = path};

    if (!path || !*path ||
        (watch->n_items > 0 && strcmp(watch->items[0].path, path) == 0))
        return;
    if (tls_certificate_dates(path, &expiry.valid_from_s,
                              &expiry.valid_until_s) == HOOP_OK)
        watch->items[watch->n_items++] = expiry;
    else
        log_warning("coordinator", "when it expires is not known: %s",
                    error_text());
}

static bool
setting_text_is_on(const char *setting)
{
    return setting && strcmp(setting, "on") == 0;
}

void
cert_expiry_watch_init(struct cert_expiry_watch *watch,
                       const struct hoop_coordinator_options *options)
{
    *watch = (struct cert_expiry_watch){0};
    if (setting_text_is_on(options->tls))
        cert_watch_add_file(watch, options->tls_cert);
    if (setting_text_is_on(options->http_tls))
        cert_watch_add_file(watch, options->http_tls_cert
                                       ? options->http_tls_cert
                                       : options->tls_cert);
}

void
cert_expiry_watch_warn(struct cert_expiry_watch *watch, int64_t now_s)
{
    char text[LIMIT_ERROR_TEXT];

    /* If the clock was set back, warn at once. */
    if (watch->last_checked_s != 0 && now_s >= watch->last_checked_s &&
        now_s - watch->last_checked_s < SECONDS_PER_DAY)
        return;
    watch->last_checked_s = now_s;
    for (size_t i = 0; i < watch->n_items; i++) {
        if (cert_expiry_describe(&watch->items[i], now_s, text))
            log_warning("coordinator", "%s", text);
    }
}
