/*
 * base/resource_limit.h - name the resource limit that made a call fail
 *
 * The kernel says "Too many open files", but not what the limit is or who set
 * it. If a call fails for lack of a local resource, the text for the user names
 * the limit and its value.
 */

#ifndef BASE_RESOURCE_LIMIT_H
#define BASE_RESOURCE_LIMIT_H

#include <stdbool.h>

#include "hoop/status.h"

enum {
    RESOURCE_LIMIT_TEXT = 160,
};

/* The call that failed. */
enum resource_call {
    RESOURCE_DESCRIPTOR, /* socket(), accept(), pipe(), memfd_create(), ... */
    RESOURCE_CONNECT,    /* connect() */
    RESOURCE_MAPPING,    /* mmap(), fallocate() and ftruncate() of memory */
    RESOURCE_THREAD,     /* pthread_create() */
};

/*
 * Return HOOP_E_EXHAUSTED if errno value error means that this process or host
 * has run out of something, HOOP_E_DENIED if the call is not permitted,
 * otherwise HOOP_E_UNAVAILABLE: the cause may be elsewhere. Thread: any.
 */
enum hoop_status
resource_error_status(enum resource_call call, int error);

/*
 * Explain error: "its process may open 17 files (RLIMIT_NOFILE, ulimit -n)",
 * where "it" is the caller; or strerror() if no limit is known to be the cause.
 * Returns out_text. Thread: any.
 */
const char *
resource_error_describe(enum resource_call call,
                        int error,
                        char out_text[RESOURCE_LIMIT_TEXT]);

#endif
