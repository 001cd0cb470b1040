/* hoop/interrupt.h - end what this thread waits for
 *
 * For languages whose signal handlers run between calls only, as Python's do:
 * such a handler would not run before a blocking call has ended.
 */

#ifndef HOOP_INTERRUPT_H
#define HOOP_INTERRUPT_H

#include <stdbool.h>

#include "hoop/api.h"

HOOP_BEGIN

/* Whether to end the call. It may take locks and last, but not call hoop. */
typedef bool
hoop_interrupt_check_t(void *context);

/*
 * From now on check is called every 50 ms while an operation that this thread
 * waits for without a timeout of its own (any blocking call, hoop_wait() with
 * HOOP_FOREVER) has not ended. Where it returns true the operation ends with
 * HOOP_E_CANCELLED, unless it has ended otherwise meanwhile, here and on the
 * ranks that it waits for, and its buffers are the caller's. It counts as
 * called: the communicator goes on with the next call. Calls that need not wait
 * take no longer. NULL: nothing is called, as at first.
 *
 * context is borrowed until the next hoop_set_interrupt() of this thread.
 * Thread: any, each has its own.
 */
HOOP_API void
hoop_set_interrupt(hoop_interrupt_check_t *check, void *context);

HOOP_END

#endif
