/* base/log_quota.c - limit log lines per period, and count the rest */

#include "base/log_quota.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"

/* now_ns may be before the start of the period, for a request that had to
 * wait. */
static bool
log_quota_period_is_over(const struct log_quota *quota, uint64_t now_ns)
{
    return !quota->since_ns ||
           now_ns >=
               quota->since_ns + LIMIT_UNAUTHENTICATED_MS * CLOCK_NS_PER_MS;
}

void
log_quota_report(struct log_quota *quota, const char *subject, uint64_t now_ns)
{
    if (quota->n_unsaid == 0 || !log_quota_period_is_over(quota, now_ns))
        return;
    log_warning(subject, "... and %" PRIu64 " more such lines in %" PRIu64 " s",
                quota->n_unsaid,
                (now_ns - quota->since_ns + CLOCK_NS_PER_S / 2) /
                    CLOCK_NS_PER_S);
    *quota = (struct log_quota){.since_ns = now_ns};
}

bool
log_quota_take(struct log_quota *quota, const char *subject, uint64_t now_ns)
{
    log_quota_report(quota, subject, now_ns);
    if (log_quota_period_is_over(quota, now_ns))
        *quota = (struct log_quota){.since_ns = now_ns};
    if (quota->n_said < LIMIT_UNAUTHENTICATED_LINES) {
        quota->n_said++;
        return true;
    }
    quota->n_unsaid++;
    return false;
}
