/*
 * service/notices.h - what the log says of jobs, and of who was refused
 *
 * Refusals are lines that strangers can cause: they have a quota. Thread: the
 * loop's.
 */

#ifndef SERVICE_NOTICES_H
#define SERVICE_NOTICES_H

#include <stdint.h>

#include "base/log_quota.h"
#include "core/action.h"

/* Zeroed: nothing has been said. */
struct notices {
    struct log_quota refusals;
};

/* peer asked for it; NULL: nobody did. notices NULL: no stranger did, and what
 * is said has no quota. */
void
notices_log(struct notices *notices,
            const struct cluster_notice *notice,
            const char *peer);

/* A request that did not come as far as the core, with this thread's error. */
void
notices_log_refusal(struct notices *notices,
                    const char *method,
                    const char *peer);

/* Now and then: how many lines there would have been. */
void
notices_tell(struct notices *notices, uint64_t now_ns);

#endif
