/*
 * base/cancel.h - holds pthread_cancel() off while a call is under way
 *
 * A thread is cancelled where it sleeps or asks the kernel, which would leave
 * locks taken and other ranks waiting. Calls that may do either hold that off:
 *
 *     CLEANUP(cancel_release) const int held = cancel_hold();
 *
 * A request that comes meanwhile stays pending, and is served at the thread's
 * next cancellation point after the scope. Holds nest.
 */

#ifndef BASE_CANCEL_H
#define BASE_CANCEL_H

#include <pthread.h>

#include "base/cleanup.h"

/* What the calling thread did with such requests before. */
static inline int
cancel_hold(void)
{
    int before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void
cancel_release(int before)
{
    pthread_setcancelstate(before, NULL);
}

static inline void
cancel_release_at(const int *before)
{
    cancel_release(*before);
}

#endif
