/*
 * api/allgather.c - the public allgather, with equal and with varying counts
 *
 * Describes the calls; api/collective.c runs them.
 */

#include "api/retry.h"

static struct collective
allgather_describe(const void *send,
                   void *recv,
                   size_t count,
                   enum hoop_dtype dtype)
{
    return (struct collective){
        .name = CALL_ALLGATHER,
        .parts = COLL_RECV_ALL,
        .send = send,
        .recv = recv,
        .count = count,
        .dtype = dtype,
    };
}

enum hoop_status
hoop_allgather(const void *send,
               void *recv,
               size_t count,
               enum hoop_dtype dtype,
               hoop_comm_t *comm)
{
    const struct collective allgather =
        allgather_describe(send, recv, count, dtype);

    return retry_run_collective(&allgather, comm);
}

enum hoop_status
hoop_allgather_start(const void *send,
                     void *recv,
                     size_t count,
                     enum hoop_dtype dtype,
                     hoop_comm_t *comm,
                     hoop_op_t **out_op)
{
    const struct collective allgather =
        allgather_describe(send, recv, count, dtype);

    return retry_start_collective(&allgather, comm, out_op);
}

static struct collective
allgatherv_describe(const void *send,
                    void *recv,
                    const size_t *counts,
                    enum hoop_dtype dtype)
{
    return (struct collective){
        .name = CALL_ALLGATHERV,
        .parts = COLL_RECV_ALL | COLL_HAS_COUNTS,
        .send = send,
        .recv = recv,
        .counts = counts,
        .dtype = dtype,
    };
}

enum hoop_status
hoop_allgatherv(const void *send,
                void *recv,
                const size_t *counts,
                enum hoop_dtype dtype,
                hoop_comm_t *comm)
{
    const struct collective allgatherv =
        allgatherv_describe(send, recv, counts, dtype);

    return retry_run_collective(&allgatherv, comm);
}

enum hoop_status
hoop_allgatherv_start(const void *send,
                      void *recv,
                      const size_t *counts,
                      enum hoop_dtype dtype,
                      hoop_comm_t *comm,
                      hoop_op_t **out_op)
{
    const struct collective allgatherv =
        allgatherv_describe(send, recv, counts, dtype);

    return retry_start_collective(&allgatherv, comm, out_op);
}
