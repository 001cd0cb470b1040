/*
 * expiry.h - warn about certificates of hoopd that expire soon
 *
 * hoopd reads its certificates only when it starts, so it must be started again
 * after one is renewed. It warns at its start and once a day during the last
 * third of a certificate's validity, at most during the last 30 days.
 */

#ifndef EXPIRY_H
#define EXPIRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/coordinator.h"

#include "base/limits.h"

/* A certificate that is in use. Times are the wall clock's, in seconds. */
struct expiry {
    const char *path; /* borrowed */
    int64_t valid_from_s;
    int64_t valid_until_s;
};

struct cert_expiry_watch {
    struct expiry items[2]; /* the workers' port's and the HTTP port's */
    size_t n_items;
    int64_t last_checked_s; /* when they were last checked; 0: never */
};

/* Write the warning that is due at now_s. Returns false if none is due yet. */
bool
cert_expiry_describe(const struct expiry *expiry,
                     int64_t now_s,
                     char out_text[LIMIT_ERROR_TEXT]);

/* Watch the certificates that a coordinator started with options has read. */
void
cert_expiry_watch_init(struct cert_expiry_watch *watch,
                       const struct hoop_coordinator_options *options);

/* Log the warnings that are due, unless they were checked within the last
 * day. */
void
cert_expiry_watch_warn(struct cert_expiry_watch *watch, int64_t now_s);

#endif
