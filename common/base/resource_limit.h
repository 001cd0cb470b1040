/*
 * base/resource_limit.h - which limit of this process or host was reached
 *
 * The kernel says "Too many open files", and not how many there may be, nor
 * who set the limit. Where a call fails for lack of something local, the text
 * for the user names the limit and its value.
 */

#ifndef BASE_RESOURCE_LIMIT_H
#define BASE_RESOURCE_LIMIT_H

#include <stdbool.h>

#include "hoop/status.h"

enum {
    RESOURCE_LIMIT_TEXT = 160,
};

/* A call that may reach one. */
enum resource_call {
    RESOURCE_DESCRIPTOR, /* socket(), accept(), pipe(), memfd_create(), ... */
    RESOURCE_CONNECT,    /* connect() */
    RESOURCE_MAPPING,    /* mmap(), fallocate() and ftruncate() of memory */
    RESOURCE_THREAD,     /* pthread_create() */
};

/*
 * HOOP_E_EXHAUSTED where error, an errno of such a call, says that this process
 * or this host has no more of something, HOOP_E_DENIED where it does not permit
 * the call; else HOOP_E_UNAVAILABLE: others may be the cause. Thread: any.
 */
enum hoop_status
resource_status(enum resource_call call, int error);

/*
 * What error means: "its process may open 17 files (RLIMIT_NOFILE, ulimit -n)",
 * where "it" is whoever made the call; strerror() where no limit is known to be
 * the cause. Returns out_text. Thread: any.
 */
const char *
resource_describe(enum resource_call call,
                  int error,
                  char out_text[RESOURCE_LIMIT_TEXT]);

#endif
