/*
 * expiry.h - certificates of hoopd that expire soon
 *
 * hoopd reads its certificates when it starts: whoever renews one has to start it
 * again. So it warns while there is time: at its start and once a day, for the last
 * third of what a certificate is valid for, at most its last 30 days.
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
    int64_t begins_s;
    int64_t ends_s;
};

struct cert_expiry_watch {
    struct expiry items[2]; /* of the workers' port, and of that for HTTP */
    size_t n_items;
    int64_t told_s; /* when it was looked at them last; 0: never */
};

/* What is to be said of expiry at now_s. False: nothing yet. */
bool
cert_expiry_describe(const struct expiry *expiry,
                     int64_t now_s,
                     char out_text[LIMIT_ERROR_TEXT]);

/* Those that a coordinator of options, which has started, has read. */
void
cert_expiry_watch_init(struct cert_expiry_watch *watch,
                       const struct hoop_coordinator_options *options);

/* Logs what is to be said of them, unless it did within the last day. */
void
cert_expiry_watch_warn(struct cert_expiry_watch *watch, int64_t now_s);

#endif
