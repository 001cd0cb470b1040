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

/* Whom a thread asks, and with what; nobody where check is NULL. */
struct hoop_interrupt {
    hoop_interrupt_check_t *check;
    void *context;
};

/*
 * From now on check is called every 50 ms while this thread waits in a call of
 * hoop's without a timeout of its own. Where it returns true the call ends with
 * HOOP_E_CANCELLED, unless it has ended otherwise meanwhile; check is to say so
 * until the call has returned, since a call may wait for several things. Calls
 * that need not wait take no longer. NULL: nothing is called, as at first.
 *
 *   collectives, messages, objects, hoop_state_sync(), hoop_wait() and the like
 *       with HOOP_FOREVER: the operation ends, here and on the ranks that it
 *       waits for, with HOOP_E_ABORTED there, and its buffers are the caller's.
 *       Who has all that it needs by then may end with HOOP_OK.
 *       It counts as called: the communicator goes on with the next call.
 *   hoop_comm_create(), _shrink(), _agree(): it counts as not called. The others
 *       wait until it is called again, until this rank leaves, or for as long as
 *       they may; where the last has come just then, it ends on them, too,
 *       with HOOP_E_ABORTED, or what they call first on it does. The same holds
 *       for hoop_comm_grow(), whose others wait, once all have called it, for as
 *       long as it allows newcomers to come.
 *   hoop_comm_split(): one or the other, so that it is to be called again by all
 *       once it has failed on all.
 *   hoop_join(): it has not joined; *out_session is not written.
 *   hoop_control_*(): the coordinator may have done it or not; the control goes
 *       on with the next call.
 *   hoop_abort(), which says no status: it returns, and the coordinator may not
 *       know.
 *
 * hoop_leave(), and hoop_wait() and others with a timeout of theirs, are not
 * interrupted.
 *
 * context is borrowed until the next hoop_set_interrupt() of this thread, which
 * returns what is set now: who sets a check for one call gives that back.
 * Thread: any, each has its own.
 */
HOOP_API struct hoop_interrupt
hoop_set_interrupt(hoop_interrupt_check_t *check, void *context);

HOOP_END

#endif
