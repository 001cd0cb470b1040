/*
 * base/cancel.h - defer pthread_cancel() during a call
 *
 * A thread is cancelled where it sleeps or enters the kernel, which would leave
 * locks taken and other ranks waiting. A call that may do either defers it:
 *
 *     CLEANUP(cancel_release) const int held = cancel_hold();
 *
 * A cancellation that arrives meanwhile stays pending and takes effect at the
 * thread's next cancellation point after the scope. Holds nest.
 */

#ifndef BASE_CANCEL_H
#define BASE_CANCEL_H

#include <pthread.h>

#include "base/cleanup.h"

/* Return the thread's former cancel state, for cancel_release(). */
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
