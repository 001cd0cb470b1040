/*
 * service/notices.h - log lines about jobs and refused clients
 *
 * Lines that can be caused by clients without a token, or with one that only
 * allows to look, are limited by a quota. Thread: the loop's.
 */

#ifndef SERVICE_NOTICES_H
#define SERVICE_NOTICES_H

#include <stdint.h>

#include "base/log_quota.h"
#include "base/role.h"
#include "core/action.h"

/* Zeroed: nothing has been logged. */
struct notices {
    struct log_quota refusals;
};

/* Log a notice. peer is the client whose request caused it, with a token for
 * role; NULL: no request did. Refusals of clients with a worker's token are not
 * limited, because those take part in the job. */
void
notices_log(struct notices *notices,
            const struct cluster_log_notice *notice,
            enum role role,
            const char *peer);

/* Log a request that was refused before it reached the core; this thread's
 * error text says why. */
void
notices_log_refusal(struct notices *notices,
                    const char *method,
                    const char *peer);

/* Log from time to time how many lines the quota has suppressed. */
void
notices_log_suppressed(struct notices *notices, uint64_t now_ns);

#endif
