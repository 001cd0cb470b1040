/*
 * api/broadcast.c - the public broadcast
 *
 * Describes the call; api/collective.c runs it.
 */

#include "api/retry.h"

static struct collective
broadcast_describe(const void *send,
                   void *recv,
                   size_t count,
                   enum hoop_dtype dtype,
                   uint32_t root)
{
    return (struct collective){
        .name = CALL_BROADCAST,
        .parts = COLL_HAS_ROOT | COLL_SEND_AT_ROOT,
        .send = send,
        .recv = recv,
        .count = count,
        .dtype = dtype,
        .root = root,
    };
}

enum hoop_status
hoop_broadcast(const void *send,
               void *recv,
               size_t count,
               enum hoop_dtype dtype,
               uint32_t root,
               hoop_comm_t *comm)
{
    const struct collective broadcast =
        broadcast_describe(send, recv, count, dtype, root);

    return retry_run_collective(&broadcast, comm);
}

enum hoop_status
hoop_broadcast_start(const void *send,
                     void *recv,
                     size_t count,
                     enum hoop_dtype dtype,
                     uint32_t root,
                     hoop_comm_t *comm,
                     hoop_op_t **out_op)
{
    const struct collective broadcast =
        broadcast_describe(send, recv, count, dtype, root);

    return retry_start_collective(&broadcast, comm, out_op);
}
