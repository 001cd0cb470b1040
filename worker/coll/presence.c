/*
 * coll/presence.c - who takes part: the first question of every call
 *
 * No test of its own: collective_test.c and p2p_test.c ask it.
 */

#include "coll/presence.h"

#include "base/error.h"
#include "session/comm.h"

enum hoop_status
presence_check(const hoop_comm_t *comm, bool *out_is_member)
{
    error_clear();
    if (!comm)
        return error_raise(HOOP_E_INVALID, "comm is NULL");
    *out_is_member = comm->channel != NULL;
    return HOOP_OK;
}
