/*
 * base/interrupt.h - let the program interrupt a waiting thread
 *
 * hoop_set_interrupt() sets a function to ask. Code that waits asks it whenever
 * interrupt_due_ns() has come, and if the answer is to stop, ends the wait with
 * HOOP_E_CANCELLED. Thread: any; each thread has its own.
 *
 * The second part defers the cancellation of a thread (pthread_cancel()).
 */

#ifndef BASE_INTERRUPT_H
#define BASE_INTERRUPT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "hoop/interrupt.h"
#include "hoop/status.h"

#include "base/cleanup.h"

/* Set the function to ask; NULL: none. context is borrowed. Returns the former
 * setting. */
struct hoop_interrupt
interrupt_set(hoop_interrupt_check_t *check, void *context);

/* Return when to ask next, for a wait that begins now: at once if the last
 * answer was to stop, because a call may consist of several waits. CLOCK_NEVER:
 * there is nothing to ask. */
uint64_t
interrupt_due_ns(void);

/* Ask whether to stop. */
bool
interrupt_check_now(void);

/* Raise the error of an interrupted wait for the coordinator. */
enum hoop_status
interrupt_raise(void);

/*
 * A thread is cancelled where it sleeps or enters the kernel, which would
 * leave locks taken and other ranks waiting. A call that may do either
 * defers it:
 *
 *   CLEANUP(cancel_release) const int held = cancel_hold();
 *
 * A cancellation that arrives meanwhile stays pending and takes effect at
 * the thread's next cancellation point after the scope. Holds nest.
 */

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
