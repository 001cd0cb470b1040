/*
 * service/notices.h - what the log says of jobs, and of who was refused
 *
 * Refusals are lines that strangers can cause, and those whose token is for
 * looking only: they have a quota. Thread: the loop's.
 */

#ifndef SERVICE_NOTICES_H
#define SERVICE_NOTICES_H

#include <stdint.h>

#include "base/log_quota.h"
#include "base/role.h"
#include "core/action.h"

/* Zeroed: nothing has been said. */
struct notices {
    struct log_quota refusals;
};

/* peer asked for it, by a token for role; NULL: nobody did. What a worker caused
 * has no quota: it takes part in the job. */
void
notices_log(struct notices *notices,
            const struct cluster_notice *notice,
            enum role role,
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
