/*
 * base/error.h - a failure: its status, one sentence, and the path it took
 *
 * The record is per thread. error_raise() begins it with the text for the
 * user; error_pass() on the way out adds the place, as "function
 * (folder/file.c:line)". Nobody logs errors in the library; the outermost
 * layer shows them (hoop_error_text()).
 */

#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>

#include "hoop/status.h"

/*
 * return error_raise(HOOP_E_INVALID, "rank %u is not below %u", rank, size);
 * The text says what, where and what to do. Evaluates to the status.
 */
#define error_raise(status, ...)                                               \
    error_begin((status), __func__, __FILE__, __LINE__, __VA_ARGS__)

/*
 * ... of which more is known than a text says; its status is the failure's. What
 * is raised with the same status later in the same call only adds words to that,
 * and keeps it.
 */
#define error_raise_failure(failure, ...)                                      \
    (error_describe(failure), error_raise((failure)->status, __VA_ARGS__))

/* if (status != HOOP_OK) return error_pass(status); */
#define error_pass(status) error_extend((status), __func__, __FILE__, __LINE__)

/* For the macros. */
void
error_describe(const struct hoop_failure *failure);
enum hoop_status
error_begin(enum hoop_status status,
            const char *function,
            const char *file,
            int line,
            const char *format,
            ...) __attribute__((format(printf, 5, 6)));
enum hoop_status
error_extend(enum hoop_status status,
             const char *function,
             const char *file,
             int line);

/* This thread's last text and path, and what else is known; never NULL. */
const char *
error_text(void);
const char *
error_path(void);
const struct hoop_failure *
error_failure(void);

/* Forget it. */
void
error_clear(void);

/*
 * A public call begins: forget it. False: this thread has too little stack for
 * a call of hoop's (LIMIT_STACK), which has become the error, of
 * HOOP_E_EXHAUSTED. That is looked up at a thread's first call only.
 */
bool
error_begin_call(void);

#endif
