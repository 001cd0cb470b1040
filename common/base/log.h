/*
 * base/log.h - log lines as text or JSON; the library logs nothing until asked
 *
 * log_info("peer", "rank %u connected from %s", rank, address); The first
 * argument is the subject, a short lower-case noun.
 */

#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdatomic.h>

#include "hoop/status.h"

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

#endif
