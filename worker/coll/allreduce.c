/*
 * coll/allreduce.c - the public allreduce
 *
 * Only what is its own; the rest is coll/collective.c.
 */

#include "coll/collective.h"

enum hoop_status
hoop_allreduce(const void *send,
               void *recv,
               size_t count,
               enum hoop_dtype dtype,
               enum hoop_reduce_op op,
               hoop_comm_t *comm)
{
    const struct collective collective = {
        .name = CALL_ALLREDUCE,
        .parts = COLL_REDUCES,
        .send = send,
        .recv = recv,
        .count = count,
        .dtype = dtype,
        .op = op,
        .comm = comm,
    };

    return collective_run(&collective);
}

enum hoop_status
hoop_allreduce_start(const void *send,
                     void *recv,
                     size_t count,
                     enum hoop_dtype dtype,
                     enum hoop_reduce_op op,
                     hoop_comm_t *comm,
                     hoop_op_t **out_op)
{
    const struct collective collective = {
        .name = CALL_ALLREDUCE,
        .parts = COLL_REDUCES,
        .send = send,
        .recv = recv,
        .count = count,
        .dtype = dtype,
        .op = op,
        .comm = comm,
    };

    return collective_start(&collective, out_op);
}
