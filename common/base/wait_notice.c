/* base/wait_notice.c - report on standard error what a long wait is waiting
 * for */

#include "base/wait_notice.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"

enum {
    PAUSE_MAX_MS = 60000,
};

void
wait_notice_begin(struct wait_notice *notice,
                  uint32_t first_ms,
                  const char *bound,
                  uint64_t allowed_ms)
{
    const uint64_t now_ns = clock_now_ns();
    const uint64_t first_ns = first_ms * CLOCK_NS_PER_MS;

    *notice = (struct wait_notice){
        .began_ns = now_ns,
        .pause_ns = first_ns,
        .due_ns = first_ms > 0 ? now_ns + first_ns : CLOCK_NEVER,
        .allowed_ms = allowed_ms,
        .bound = bound,
    };
}

int
wait_notice_left_ms(const struct wait_notice *notice)
{
    return clock_left_ms(notice->due_ns);
}

void
wait_notice_format(const struct wait_notice *notice,
                   uint64_t now_ns,
                   const char *what,
                   char out_text[LIMIT_ERROR_TEXT])
{
    const double since =
        (double)(now_ns - notice->began_ns) / (double)CLOCK_NS_PER_S;

    if (!notice->bound)
        snprintf(out_text, LIMIT_ERROR_TEXT, "%.900s (since %.1f s)", what,
                 since);
    else
        snprintf(out_text, LIMIT_ERROR_TEXT,
                 "%.900s (since %.1f s; %s allows %g s)", what, since,
                 notice->bound, (double)notice->allowed_ms / 1000);
}

void
wait_notice_postpone(struct wait_notice *notice)
{
    const uint64_t most_ns = PAUSE_MAX_MS * CLOCK_NS_PER_MS;
    const uint64_t twice_ns = 2 * notice->pause_ns;

    if (notice->pause_ns < most_ns)
        notice->pause_ns = twice_ns < most_ns ? twice_ns : most_ns;
    notice->due_ns = clock_now_ns() + notice->pause_ns;
}

void
wait_notice_log(struct wait_notice *notice, const char *what)
{
    char text[LIMIT_ERROR_TEXT];

    wait_notice_format(notice, clock_now_ns(), what, text);
    log_write(LOG_WARNING, "wait", "%s", text);
    wait_notice_postpone(notice);
}
