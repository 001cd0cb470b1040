/*
 * base/log_quota.h - so many lines in some seconds, and a count of the rest
 *
 * For what strangers can cause as often as they like: the first lines tell what
 * comes and from where, and a scan that lasts all night fills no disk.
 */

#ifndef BASE_LOG_QUOTA_H
#define BASE_LOG_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: nothing has been said. Thread: one at a time. */
struct log_quota {
    uint64_t since_ns; /* begin of the period; 0: there was none yet */
    uint32_t n_said;   /* in it */
    uint64_t n_unsaid; /* in it, and not told yet */
};

/* Whether a line may be written now; if not, it is counted. A period that is
 * over is told first, as by log_quota_tell(). */
bool
log_quota_take(struct log_quota *quota, const char *subject, uint64_t now_ns);

/* One line with the count of a period that is over, if anything was left out
 * of it; to be called now and then. */
void
log_quota_tell(struct log_quota *quota, const char *subject, uint64_t now_ns);

#endif
