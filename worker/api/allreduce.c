/*
 * api/allreduce.c - the public allreduce
 *
 * Describes the call; api/collective.c runs it.
 */

#include "api/retry.h"

static struct collective
allreduce_describe(const void *send,
                   void *recv,
                   size_t count,
                   enum hoop_dtype dtype,
                   enum hoop_reduce_op op)
{
    return (struct collective){
        .name = CALL_ALLREDUCE,
        .parts = COLL_REDUCES,
        .send = send,
        .recv = recv,
        .count = count,
        .dtype = dtype,
        .op = op,
    };
}

enum hoop_status
hoop_allreduce(const void *send,
               void *recv,
               size_t count,
               enum hoop_dtype dtype,
               enum hoop_reduce_op op,
               hoop_comm_t *comm)
{
    const struct collective allreduce =
        allreduce_describe(send, recv, count, dtype, op);

    return retry_run_collective(&allreduce, comm);
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
    const struct collective allreduce =
        allreduce_describe(send, recv, count, dtype, op);

    return retry_start_collective(&allreduce, comm, out_op);
}
