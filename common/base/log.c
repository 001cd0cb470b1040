/*
 * base/log.c - log lines, each written with one write(2)
 *
 * Lines of several threads and processes never mix: a line is built on the
 * stack and written at once. Longer lines are cut. After the writer come quotas
 * of lines, and the notices of long waits.
 */

#include "base/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/interrupt.h"
#include "base/limits.h"

enum {
    LOG_LINE_MAX = 2048,
};

struct log_line {
    size_t n_bytes;
    char bytes[LOG_LINE_MAX];
};

/* Kept until the process ends, so that a thread may read a name while it is
 * changed. There is no lock, because a fork could leave it taken. */
struct log_name_entry {
    struct log_name_entry *older;
    char name[LIMIT_NAME];
};

_Atomic enum log_level log_threshold_now = LOG_OFF;

static _Atomic enum log_format line_format = LOG_TEXT;
static struct log_name_entry first_speaker = {.name = "hoop"};
static _Atomic(struct log_name_entry *) newest_speaker = &first_speaker;
static _Atomic(const struct log_name_entry *) speaker = &first_speaker;

static const char *const level_names[] = {
    [LOG_OFF] = "off",   [LOG_ERROR] = "error", [LOG_WARNING] = "warning",
    [LOG_INFO] = "info", [LOG_DEBUG] = "debug",
};

static const char *const format_names[] = {
    [LOG_TEXT] = "text",
    [LOG_JSON] = "json",
};

static void
line_append(struct log_line *line, const char *text)
{
    /* Keep one byte for the newline. */
    while (*text && line->n_bytes < sizeof(line->bytes) - 1)
        line->bytes[line->n_bytes++] = *text++;
}

/* Stop before an escape is split, with room for the end of the line. */
static void
line_append_escaped(struct log_line *line, const char *text)
{
    const enum escape_style style =
        line_format == LOG_JSON ? ESCAPE_JSON : ESCAPE_TEXT;
    char escaped[ESCAPE_BYTES];

    while (*text && line->n_bytes < sizeof(line->bytes) - 16) {
        text += escape_character(text, style, escaped);
        line_append(line, escaped);
    }
}

static void
line_append_quoted(struct log_line *line, const char *text)
{
    line_append(line, "\"");
    line_append_escaped(line, text);
    line_append(line, "\"");
}

static const char *
log_name_current(void)
{
    return atomic_load_explicit(&speaker, memory_order_acquire)->name;
}

static void
log_time_format(char *text, size_t n_bytes)
{
    struct timespec now;
    struct tm utc;
    char seconds[32];

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text, n_bytes, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
}

static void
line_format_text(struct log_line *line,
                 enum log_level level,
                 const char *subject,
                 const char *message)
{
    char stamp[48];

    log_time_format(stamp, sizeof(stamp));
    line_append(line, stamp);
    line_append(line, " ");
    line_append(line, log_name_current());
    line_append(line, " ");
    line_append(line, level_names[level]);
    line_append(line, " ");
    line_append(line, subject);
    line_append(line, ": ");
    line_append_escaped(line, message);
}

static void
line_format_json(struct log_line *line,
                 enum log_level level,
                 const char *subject,
                 const char *message)
{
    char stamp[48];

    log_time_format(stamp, sizeof(stamp));
    line_append(line, "{\"time\":");
    line_append_quoted(line, stamp);
    line_append(line, ",\"from\":");
    line_append_quoted(line, log_name_current());
    line_append(line, ",\"level\":");
    line_append_quoted(line, level_names[level]);
    line_append(line, ",\"subject\":");
    line_append_quoted(line, subject);
    line_append(line, ",\"message\":");
    line_append_quoted(line, message);
    line_append(line, "}");
}

void
log_write(enum log_level level, const char *subject, const char *format, ...)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    char message[LIMIT_ERROR_TEXT];
    struct log_line line = {0};
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);

    if (line_format == LOG_JSON)
        line_format_json(&line, level, subject, message);
    else
        line_format_text(&line, level, subject, message);
    line.bytes[line.n_bytes++] = '\n';

    /* There is no way to report that logging failed. */
    if (write(STDERR_FILENO, line.bytes, line.n_bytes) < 0)
        return;
}

/* Return the kept name; NULL: there is none. */
static const struct log_name_entry *
log_name_find(const char *name)
{
    const struct log_name_entry *found =
        atomic_load_explicit(&newest_speaker, memory_order_acquire);

    while (found && strncmp(found->name, name, LIMIT_NAME - 1) != 0)
        found = found->older;
    return found;
}

/* Two threads may add the same name at once; then it is kept twice. */
static const struct log_name_entry *
log_name_add(const char *name)
{
    struct log_name_entry *added = malloc(sizeof(*added));

    if (!added)
        return NULL;
    snprintf(added->name, sizeof(added->name), "%s", name);
    added->older = atomic_load_explicit(&newest_speaker, memory_order_acquire);
    while (!atomic_compare_exchange_weak(&newest_speaker, &added->older, added))
        ;
    return added;
}

void
log_set_name(const char *name)
{
    const struct log_name_entry *named = log_name_find(name);

    if (!named)
        named = log_name_add(name);
    /* Without memory the former name stays. */
    if (named)
        atomic_store_explicit(&speaker, named, memory_order_release);
}

void
log_configure(enum log_level level, enum log_format format)
{
    /* The format is set first, so that lines of the new level have it. */
    atomic_store(&line_format, format);
    atomic_store(&log_threshold_now, level);
}

enum hoop_status
log_level_parse(const char *text, enum log_level *out_level)
{
    for (size_t i = 0; i < COUNT_OF(level_names); i++) {
        if (strcmp(text, level_names[i]) == 0) {
            *out_level = (enum log_level)i;
            return HOOP_OK;
        }
    }
    return error_raise(HOOP_E_INVALID,
                       "log level '%s' is none of off, error, warning, info, "
                       "debug",
                       text);
}

enum hoop_status
log_format_parse(const char *text, enum log_format *out_format)
{
    for (size_t i = 0; i < COUNT_OF(format_names); i++) {
        if (strcmp(text, format_names[i]) == 0) {
            *out_format = (enum log_format)i;
            return HOOP_OK;
        }
    }
    return error_raise(HOOP_E_INVALID,
                       "log format '%s' is neither text nor json", text);
}

/* Limit log lines per period, and count the rest. */

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

/* Log what a long wait is waiting for. */

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
    const double since = ns_to_seconds(now_ns - notice->began_ns);

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
