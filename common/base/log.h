/*
 * base/log.h - levels, text or JSON lines, silent in the library until asked
 *
 * log_info("peer", "rank %u connected from %s", rank, address);
 * The first argument is the subject, a short lower-case noun.
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

/* Does nothing below the level, which is LOG_OFF at first. Thread: any. */
#define log_at(level, ...)                                                     \
    ((level) <= log_threshold() ? log_write((level), __VA_ARGS__) : (void)0)

extern _Atomic enum log_level log_threshold_now;

static inline enum log_level
log_threshold(void)
{
    return atomic_load_explicit(&log_threshold_now, memory_order_relaxed);
}

/* One line to fd 2, written by one write(2). Thread: any. */
void
log_write(enum log_level level, const char *subject, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Who speaks, e.g. "hoopd" or "rank 3"; cut at LIMIT_NAME. A copy of each name
 * is kept for good: there are few. Of several sessions in a process the last one
 * that joined counts. Thread: any, also while others log. */
void
log_name(const char *name);

/* Thread: any, also while others log. */
void
log_configure(enum log_level level, enum log_format format);

/* "off", "error", "warning", "info", "debug". Handle: HOOP_E_INVALID. */
enum hoop_status
log_level_parse(const char *text, enum log_level *out_level);

/* "text", "json". Handle: HOOP_E_INVALID. */
enum hoop_status
log_format_parse(const char *text, enum log_format *out_format);

#endif
