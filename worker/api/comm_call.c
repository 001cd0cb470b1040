/* api/comm_call.c - the beginning of every call: is this process a member? */

#include "api/comm_call.h"

#include "hoop/group.h"
#include "hoop/init.h"

enum hoop_status
comm_call_begin(const hoop_comm_t *comm, bool *out_is_member)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!comm)
        return error_raise(HOOP_E_INVALID, "comm is NULL");
    *out_is_member = comm->context != NULL;
    return HOOP_OK;
}

hoop_comm_t *
comm_call_default_comm(enum hoop_status *out_status)
{
    hoop_group_t *group = hoop_default_group();
    hoop_comm_t *comm = NULL;

    *out_status = group ? hoop_group_global_comm(group, &comm)
                        : error_raise(HOOP_E_INVALID,
                                      "comm is NULL, and there is no default "
                                      "group: give a communicator, or call "
                                      "hoop_init() first");
    return comm;
}
