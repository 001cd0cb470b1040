/*
 * base/error.c - the last failure of a thread: status, text and path
 *
 * The record has a fixed size, because reporting a failure must not fail.
 * Longer texts are cut. The names of the statuses and the stack that a thread
 * has left come first.
 */

#include "base/error.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "hoop/comm.h"

#include "base/escape.h"
#include "base/interrupt.h"
#include "base/limits.h"

/* For the main thread this reads files of the kernel, so call it rarely. */
size_t
stack_bytes_left(void)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    pthread_attr_t attributes;
    void *begin = NULL;
    size_t n_bytes = 0;

    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return SIZE_MAX;
    pthread_attr_getstack(&attributes, &begin, &n_bytes);
    pthread_attr_destroy(&attributes);
    const size_t left = here - (uintptr_t)begin;
    return here < (uintptr_t)begin || left > n_bytes ? SIZE_MAX : left;
}

const char *
status_name(enum hoop_status status)
{
    switch (status) {
    case HOOP_OK:
        return "OK";
    case HOOP_E_CANCELLED:
        return "CANCELLED";
    case HOOP_E_UNKNOWN:
        return "UNKNOWN";
    case HOOP_E_INVALID:
        return "INVALID_ARGUMENT";
    case HOOP_E_TIMEOUT:
        return "DEADLINE_EXCEEDED";
    case HOOP_E_NOT_FOUND:
        return "NOT_FOUND";
    case HOOP_E_EXISTS:
        return "ALREADY_EXISTS";
    case HOOP_E_DENIED:
        return "PERMISSION_DENIED";
    case HOOP_E_EXHAUSTED:
        return "RESOURCE_EXHAUSTED";
    case HOOP_E_PRECONDITION:
        return "FAILED_PRECONDITION";
    case HOOP_E_ABORTED:
        return "ABORTED";
    case HOOP_E_RANGE:
        return "OUT_OF_RANGE";
    case HOOP_E_UNIMPLEMENTED:
        return "UNIMPLEMENTED";
    case HOOP_E_INTERNAL:
        return "INTERNAL";
    case HOOP_E_UNAVAILABLE:
        return "UNAVAILABLE";
    case HOOP_E_DATA_LOSS:
        return "DATA_LOSS";
    case HOOP_E_UNAUTHENTICATED:
        return "UNAUTHENTICATED";
    case HOOP_E_PENDING:
        return "PENDING";
    case HOOP_E_PEER_LOST:
        return "PEER_LOST";
    case HOOP_E_MISMATCH:
        return "MISMATCH";
    case HOOP_E_CLOSED:
        return "CLOSED";
    case HOOP_E_RANK_FAILED:
        return "RANK_FAILED";
    }
    return "UNKNOWN";
}

enum hoop_status
status_from_peer(uint64_t number)
{
    const enum hoop_status status = (enum hoop_status)number;

    if (number == HOOP_OK)
        return HOOP_E_UNKNOWN;
    const bool is_known = number <= HOOP_E_RANK_FAILED &&
                          (status == HOOP_E_UNKNOWN ||
                           strcmp(status_name(status), "UNKNOWN") != 0);
    return is_known && status != HOOP_E_PENDING ? status : HOOP_E_DATA_LOSS;
}

struct error_record {
    bool has_stack; /* the stack was found sufficient */
    size_t n_path;
    char text[LIMIT_ERROR_TEXT];
    char path[LIMIT_ERROR_PATH];
    struct hoop_failure failure;
};

static _Thread_local struct error_record record;

static const struct hoop_failure nothing_known = {.rank = HOOP_NO_RANK,
                                                  .waited_for = HOOP_NO_RANK};

/* Return the file and its folder: "stream/send.c" of
 * "../worker/transport/stream/send.c". */
static const char *
folder_and_file(const char *path)
{
    const char *slash = strrchr(path, '/');

    while (slash && slash > path && slash[-1] != '/')
        slash--;
    return slash ? slash : path;
}

static void
error_path_append(const char *function, const char *file, int line)
{
    const size_t room = sizeof(record.path) - record.n_path;
    const int n = snprintf(record.path + record.n_path, room, "%s%s (%s:%d)",
                           record.n_path ? " < " : "", function,
                           folder_and_file(file), line);

    if (n > 0)
        record.n_path += (size_t)n < room ? (size_t)n : room - 1;
}

enum hoop_status
error_record_start(enum hoop_status status,
                   const char *function,
                   const char *file,
                   int line,
                   const char *format,
                   ...)
{
    /* Formatted into a buffer first, because an argument may be the old
     * text. */
    char text[LIMIT_ERROR_TEXT];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);

    /* The text is printed as it is and may contain foreign names. */
    escape_text(text, record.text, sizeof(record.text));
    record.n_path = 0;
    error_path_append(function, file, line);
    if (record.failure.status != status)
        record.failure = nothing_known;
    record.failure.status = status;
    return status;
}

void
error_record_failure(const struct hoop_failure *failure)
{
    record.failure = *failure;
}

enum hoop_status
error_record_extend_path(enum hoop_status status,
                         const char *function,
                         const char *file,
                         int line)
{
    error_path_append(function, file, line);
    return status;
}

const char *
error_text(void)
{
    return record.text;
}

const char *
error_call_path(void)
{
    return record.path;
}

const struct hoop_failure *
error_failure_details(void)
{
    return record.failure.status == HOOP_OK ? &nothing_known : &record.failure;
}

void
error_clear(void)
{
    record.text[0] = '\0';
    record.path[0] = '\0';
    record.n_path = 0;
    record.failure.status = HOOP_OK;
}

static bool
stack_is_sufficient(void)
{
    const size_t n_bytes = stack_bytes_left();

    record.has_stack = n_bytes >= LIMIT_STACK;
    if (!record.has_stack)
        (void)error_raise(HOOP_E_EXHAUSTED,
                          "this thread has %zu bytes of stack left, and a call "
                          "of hoop needs %d: create it with a larger stack "
                          "(pthread_attr_setstacksize())",
                          n_bytes, LIMIT_STACK);
    return record.has_stack;
}

bool
error_begin_call(void)
{
    error_clear();
    return record.has_stack || stack_is_sufficient();
}
