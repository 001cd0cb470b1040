/*
 * coll/broadcast.c - the public broadcast
 *
 * Only what is its own; the rest is coll/collective.c.
 */

#include "coll/collective.h"

enum hoop_status
hoop_broadcast(const void *send,
               void *recv,
               size_t count,
               enum hoop_dtype dtype,
               uint32_t root,
               hoop_comm_t *comm)
{
    const struct collective collective = {
        .name = CALL_BROADCAST,
        .parts = COLL_HAS_ROOT | COLL_SEND_AT_ROOT,
        .send = send,
        .recv = recv,
        .count = count,
        .dtype = dtype,
        .root = root,
        .comm = comm,
    };

    return collective_run(&collective);
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
    const struct collective collective = {
        .name = CALL_BROADCAST,
        .parts = COLL_HAS_ROOT | COLL_SEND_AT_ROOT,
        .send = send,
        .recv = recv,
        .count = count,
        .dtype = dtype,
        .root = root,
        .comm = comm,
    };

    return collective_start(&collective, out_op);
}
