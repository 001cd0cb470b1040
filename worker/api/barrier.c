/*
 * api/barrier.c - the public barrier
 *
 * Describes the call; api/collective.c runs it.
 */

#include "api/retry.h"

static const struct collective barrier = {
    .name = CALL_BARRIER,
    .parts = COLL_NO_BUFFERS,
};

enum hoop_status
hoop_barrier(hoop_comm_t *comm)
{
    return retry_run_collective(&barrier, comm);
}

enum hoop_status
hoop_barrier_start(hoop_comm_t *comm, hoop_op_t **out_op)
{
    return retry_start_collective(&barrier, comm, out_op);
}
