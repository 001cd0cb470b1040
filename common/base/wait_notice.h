/*
 * base/wait_notice.h - report on standard error what a long wait is waiting for
 *
 * A wait begins a notice, asks it when the next line is due, and then says what
 * it waits for: first after HOOP_WAIT_NOTICE, then after twice the last pause,
 * up to a minute. Each line tells how long the wait has lasted, and which
 * setting limits it and to what time. Thread: calls must not overlap.
 */

#ifndef BASE_WAIT_NOTICE_H
#define BASE_WAIT_NOTICE_H

#include <stdint.h>

#include "base/limits.h"

struct wait_notice {
    uint64_t began_ns;
    uint64_t pause_ns;   /* pause before the next line */
    uint64_t due_ns;     /* when the next line is due; CLOCK_NEVER: never */
    uint64_t allowed_ms; /* limit of the wait */
    const char *bound;   /* the setting that limits it, such as
                            "HOOP_JOIN_TIMEOUT"; static */
};

/* Begin a wait now. first_ms is the time until the first line; 0: there are no
 * lines. If bound is NULL the wait has no limit, and allowed_ms is ignored. */
void
wait_notice_begin(struct wait_notice *notice,
                  uint32_t first_ms,
                  const char *bound,
                  uint64_t allowed_ms);

/* Return the milliseconds until the next line; 0: it is due; -1: there is
 * none. */
int
wait_notice_left_ms(const struct wait_notice *notice);

/* Write "WHAT (since 1.0 s; HOOP_JOIN_TIMEOUT allows 60 s)". */
void
wait_notice_format(const struct wait_notice *notice,
                   uint64_t now_ns,
                   const char *what,
                   char out_text[LIMIT_ERROR_TEXT]);

/* Log that text, and schedule the next line. */
void
wait_notice_log(struct wait_notice *notice, const char *what);

/* Schedule the next line without logging one now. */
void
wait_notice_postpone(struct wait_notice *notice);

#endif
