/*
 * base/log_quota.h - limit log lines per period, and count the rest
 *
 * For lines that unauthenticated clients can cause at will: the first lines
 * show what comes and from where, and a scan that lasts all night does not fill
 * the disk.
 */

#ifndef BASE_LOG_QUOTA_H
#define BASE_LOG_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: nothing has been logged. Thread: calls must not overlap. */
struct log_quota {
    uint64_t since_ns; /* start of the period; 0: none yet */
    uint32_t n_said;   /* lines logged in the period */
    uint64_t n_unsaid; /* lines suppressed in the period and not reported yet */
};

/* Return whether a line may be logged now; if not, it is counted. A finished
 * period is reported first, as by log_quota_report(). */
bool
log_quota_take(struct log_quota *quota, const char *subject, uint64_t now_ns);

/* Log the number of suppressed lines of a finished period, if there are any.
 * Call now and then. */
void
log_quota_report(struct log_quota *quota, const char *subject, uint64_t now_ns);

#endif
