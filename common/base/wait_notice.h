/*
 * base/wait_notice.h - one who waits long says for what on standard error
 *
 * A wait begins a notice, asks it when the next line is due, and says then what
 * it waits for: first after HOOP_WAIT_NOTICE, then after twice the last pause,
 * up to a minute. Each line tells since when, until when, and what bounds the
 * wait, if anything does. Thread: one at a time.
 */

#ifndef BASE_WAIT_NOTICE_H
#define BASE_WAIT_NOTICE_H

#include <stdint.h>

#include "base/limits.h"

struct wait_notice {
    uint64_t began_ns;
    uint64_t pause_ns;   /* before the next line */
    uint64_t due_ns;     /* of the next line; CLOCK_NEVER: none is */
    uint64_t allowed_ms; /* for the wait */
    const char *bound;   /* what allows it: "HOOP_JOIN_TIMEOUT"; static */
};

/* The wait begins now. first_ms: until the first line; 0: there is none. bound
 * NULL: nothing ends the wait, and allowed_ms says nothing. */
void
wait_notice_begin(struct wait_notice *notice,
                  uint32_t first_ms,
                  const char *bound,
                  uint64_t allowed_ms);

/* Milliseconds until the next line is due, 0: it is; -1: there is none. */
int
wait_notice_left_ms(const struct wait_notice *notice);

/* "WHAT (since 1.0 s; HOOP_JOIN_TIMEOUT allows 60 s)". */
void
wait_notice_format(const struct wait_notice *notice,
                   uint64_t now_ns,
                   const char *what,
                   char out_text[LIMIT_ERROR_TEXT]);

/* Write that as one line, and plan the next. */
void
wait_notice_say(struct wait_notice *notice, const char *what);

/* There is nothing to say now: the next line as if there had been one. */
void
wait_notice_put_off(struct wait_notice *notice);

#endif
