/*
 * base/log.h - log lines as text or JSON; the library logs nothing until asked
 *
 * log_info("peer", "rank %u connected from %s", rank, address); The first
 * argument is the subject, a short lower-case noun.
 */

#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"

enum log_level {
    LOG_OFF,
    LOG_ERROR,
    LOG_WARNING,
    LOG_INFO,
    LOG_DEBUG,
};

enum log_format {
    LOG_TEXT,
    LOG_JSON,
};

#define log_error(...)   log_at(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_at(LOG_WARNING, __VA_ARGS__)
#define log_info(...)    log_at(LOG_INFO, __VA_ARGS__)
#define log_debug(...)   log_at(LOG_DEBUG, __VA_ARGS__)

/* Logs nothing below the level, which is LOG_OFF initially. Thread: any. */
#define log_at(level, ...)                                                     \
    ((level) <= log_threshold() ? log_write((level), __VA_ARGS__) : (void)0)

extern _Atomic enum log_level log_threshold_now;

static inline enum log_level
log_threshold(void)
{
    return atomic_load_explicit(&log_threshold_now, memory_order_relaxed);
}

/* Write one line to standard error with one write(2). Thread: any. */
void
log_write(enum log_level level, const char *subject, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Set the name in log lines, such as "hoopd" or "rank 3"; cut at LIMIT_NAME. A
 * copy of each name is kept forever, since there are few. With several sessions
 * in a process, the one that joined last wins. Thread: any, also while others
 * log. */
void
log_set_name(const char *name);

/* Set level and format. Thread: any, also while others log. */
void
log_configure(enum log_level level, enum log_format format);

/* Parse "off", "error", "warning", "info" or "debug". Handle:
 * HOOP_E_INVALID. */
enum hoop_status
log_level_parse(const char *text, enum log_level *out_level);

/* Parse "text" or "json". Handle: HOOP_E_INVALID. */
enum hoop_status
log_format_parse(const char *text, enum log_format *out_format);

/*
 * A quota limits the lines that unauthenticated clients can cause at will: the
 * first lines of a period show what comes and from where, and a scan that lasts
 * all night does not fill the disk.
 */

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

/*
 * A notice tells the user what a long wait is waiting for. A wait begins a
 * notice, asks it when the next line is due, and then logs that line: first
 * after HOOP_WAIT_NOTICE, then after twice the last pause, up to a minute. Each
 * line tells how long the wait has lasted, and which setting limits it and to
 * what time. Thread: calls must not overlap.
 */

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
