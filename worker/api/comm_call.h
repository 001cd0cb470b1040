/*
 * api/comm_call.h - the beginning of every call: is this process a member?
 *
 * A process may hold a communicator of which it is not a member. Every call on
 * it succeeds at once and touches nothing.
 */

#ifndef API_COMM_CALL_H
#define API_COMM_CALL_H

#include <stdbool.h>

#include "hoop/comm.h"

#include "base/error.h"
#include "session/comm.h"

/* Begin a public call: reset the thread's last error, and find out whether this
 * process is a member of comm. Handle: HOOP_E_INVALID (NULL). */
enum hoop_status
comm_call_begin(const hoop_comm_t *comm, bool *out_is_member);

/* The global communicator of the default group, formed at the first request. On
 * failure returns NULL and sets *out_status: HOOP_E_INVALID (no default group),
 * or as hoop_group_global_comm(). */
hoop_comm_t *
comm_call_default_comm(enum hoop_status *out_status);

/* Like comm_call_begin(), for calls that accept NULL for the default group's
 * global communicator: replaces *comm by it. */
static inline enum hoop_status
comm_call_begin_or_default(hoop_comm_t **comm, bool *out_is_member)
{
    *out_is_member = false;
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!*comm) {
        enum hoop_status status;
        hoop_comm_t *found = comm_call_default_comm(&status);

        if (!found)
            return error_pass(status);
        *comm = found;
    }
    *out_is_member = (*comm)->context != NULL;
    return HOOP_OK;
}

#endif
