/*
 * base/error.h - the last failure of a thread: status, text and path
 *
 * The record is per thread. error_raise() starts it with a sentence for the
 * user; error_pass() on the way out appends the place as "function
 * (folder/file.c:line)". The library does not log errors; the outermost layer
 * shows them (hoop_error_text()).
 */

#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

/*
 * Start an error: return error_raise(HOOP_E_INVALID, "rank %u is not below %u",
 * rank, size); The text says what failed, where, and what to do. Evaluates to
 * the status.
 */
#define error_raise(status, ...)                                               \
    error_record_start((status), __func__, __FILE__, __LINE__, __VA_ARGS__)

/*
 * As error_raise(), with details in failure, whose status is used. A later
 * error of the same call with the same status replaces the text but keeps the
 * details.
 */
#define error_raise_failure(failure, ...)                                      \
    (error_record_failure(failure), error_raise((failure)->status, __VA_ARGS__))

/* Append this place to the path: if (status != HOOP_OK) return
 * error_pass(status); */
#define error_pass(status)                                                     \
    error_record_extend_path((status), __func__, __FILE__, __LINE__)

/* Used by the macros. */
void
error_record_failure(const struct hoop_failure *failure);
enum hoop_status
error_record_start(enum hoop_status status,
                   const char *function,
                   const char *file,
                   int line,
                   const char *format,
                   ...) __attribute__((format(printf, 5, 6)));
enum hoop_status
error_record_extend_path(enum hoop_status status,
                         const char *function,
                         const char *file,
                         int line);

/* Return this thread's last text, path and details; never NULL. */
const char *
error_text(void);
const char *
error_call_path(void);
const struct hoop_failure *
error_failure_details(void);

/* Clear this thread's record. */
void
error_clear(void);

/*
 * Begin a public call: clear the record. Returns false, with HOOP_E_EXHAUSTED
 * as the error, if the thread has less stack left than LIMIT_STACK; this is
 * checked until it was found sufficient once.
 */
bool
error_begin_call(void);

/* Return gRPC's spelling, such as "INVALID_ARGUMENT"; never NULL. */
const char *
status_name(enum hoop_status status);

/* Return the failure that another process sent as a number. HOOP_OK becomes
 * HOOP_E_UNKNOWN, and a number that is no failure of enum hoop_status becomes
 * HOOP_E_DATA_LOSS. */
enum hoop_status
status_from_peer(uint64_t number);

/* Return whether the status means that a rank no longer takes part: it is lost,
 * or has reported its own failure. */
static inline bool
status_is_loss(enum hoop_status status)
{
    return status == HOOP_E_PEER_LOST || status == HOOP_E_RANK_FAILED;
}

/* Return the bytes between here and the end of this thread's stack, which
 * error_begin_call() checks. SIZE_MAX: unknown, for example on a stack that the
 * program has made itself. */
size_t
stack_bytes_left(void);

#endif
