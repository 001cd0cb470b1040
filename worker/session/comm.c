/*
 * session/comm.c - what a communicator tells about itself
 *
 * No test of its own: each function is one call of the engine.
 */

#include "session/comm.h"

uint32_t
hoop_comm_rank(const hoop_comm_t *comm)
{
    return channel_rank(comm->channel);
}

uint32_t
hoop_comm_size(const hoop_comm_t *comm)
{
    return channel_size(comm->channel);
}

void
hoop_comm_set_timeout(hoop_comm_t *comm, uint32_t timeout_ms)
{
    channel_set_timeout(comm->channel,
                        timeout_ms > 0 ? timeout_ms : comm->session_timeout_ms);
}
