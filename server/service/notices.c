/* service/notices.c - log lines about jobs and refused clients */

#include "service/notices.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

static enum log_level
notice_log_level(enum cluster_log_notice_kind kind)
{
    switch (kind) {
    case CLUSTER_NOTICE_JOINED:
    case CLUSTER_NOTICE_WITHDRAWN:
    case CLUSTER_NOTICE_FORMED:
    case CLUSTER_NOTICE_LEFT:
    case CLUSTER_NOTICE_ENDED:
        return LOG_INFO;
    case CLUSTER_NOTICE_FORM_FAILED:
    case CLUSTER_NOTICE_REFUSED:
    case CLUSTER_NOTICE_LOST:
    case CLUSTER_NOTICE_LATE:
    case CLUSTER_NOTICE_HEARD:
        return LOG_WARNING;
    }
    return LOG_WARNING;
}

void
notices_log(struct notices *notices,
            const struct cluster_log_notice *notice,
            enum role role,
            const char *peer)
{
    if (notice->kind != CLUSTER_NOTICE_REFUSED)
        log_at(notice_log_level(notice->kind), "job", "%s", notice->text);
    else if (role == ROLE_WORKER ||
             log_quota_take(&notices->refusals, "job", clock_now_ns()))
        log_warning("job", "%s (asked by %s)", notice->text,
                    peer ? peer : "nobody");
}

void
notices_log_refusal(struct notices *notices,
                    const char *method,
                    const char *peer)
{
    if (log_quota_take(&notices->refusals, "job", clock_now_ns()))
        log_warning("rpc", "%s from %s refused: %s", method, peer,
                    error_text());
}

void
notices_log_suppressed(struct notices *notices, uint64_t now_ns)
{
    log_quota_report(&notices->refusals, "job", now_ns);
}
