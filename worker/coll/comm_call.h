/*
 * coll/comm_call.h - who takes part: the first question of every call
 *
 * A communicator may not have this process as a member. Every call on it
 * succeeds at once and touches nothing.
 */

#ifndef COLL_COMM_CALL_H
#define COLL_COMM_CALL_H

#include <stdbool.h>

#include "hoop/comm.h"

#include "base/error.h"
#include "session/comm.h"

/* A new call begins: forgets the last error. Handle: HOOP_E_INVALID (NULL). */
enum hoop_status
comm_call_begin(const hoop_comm_t *comm, bool *out_is_member);

/* The global communicator of the default group, formed if nobody has asked for
 * it before. NULL, and *out_status: HOOP_E_INVALID (no default group), and as
 * hoop_group_global_comm(). */
hoop_comm_t *
comm_call_default_comm(enum hoop_status *out_status);

/* As comm_call_begin(), for the calls that take the default group's global
 * communicator in place of NULL: *comm becomes that. */
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
