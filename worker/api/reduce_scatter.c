/*
 * api/reduce_scatter.c - the public reduce-scatter, with equal and varying
 * counts
 *
 * Describes the calls; api/collective.c runs them.
 */

#include "api/retry.h"

static struct collective
reduce_scatter_describe(const void *send,
                        void *recv,
                        size_t count,
                        enum hoop_dtype dtype,
                        enum hoop_reduce_op op)
{
    return (struct collective){
        .name = CALL_REDUCE_SCATTER,
        .parts = COLL_REDUCES | COLL_SEND_ALL,
        .send = send,
        .recv = recv,
        .count = count,
        .dtype = dtype,
        .op = op,
    };
}

enum hoop_status
hoop_reduce_scatter(const void *send,
                    void *recv,
                    size_t count,
                    enum hoop_dtype dtype,
                    enum hoop_reduce_op op,
                    hoop_comm_t *comm)
{
    const struct collective reduce_scatter =
        reduce_scatter_describe(send, recv, count, dtype, op);

    return retry_run_collective(&reduce_scatter, comm);
}

enum hoop_status
hoop_reduce_scatter_start(const void *send,
                          void *recv,
                          size_t count,
                          enum hoop_dtype dtype,
                          enum hoop_reduce_op op,
                          hoop_comm_t *comm,
                          hoop_op_t **out_op)
{
    const struct collective reduce_scatter =
        reduce_scatter_describe(send, recv, count, dtype, op);

    return retry_start_collective(&reduce_scatter, comm, out_op);
}

static struct collective
reduce_scatterv_describe(const void *send,
                         void *recv,
                         const size_t *counts,
                         enum hoop_dtype dtype,
                         enum hoop_reduce_op op)
{
    return (struct collective){
        .name = CALL_REDUCE_SCATTERV,
        .parts = COLL_REDUCES | COLL_SEND_ALL | COLL_HAS_COUNTS,
        .send = send,
        .recv = recv,
        .counts = counts,
        .dtype = dtype,
        .op = op,
    };
}

enum hoop_status
hoop_reduce_scatterv(const void *send,
                     void *recv,
                     const size_t *counts,
                     enum hoop_dtype dtype,
                     enum hoop_reduce_op op,
                     hoop_comm_t *comm)
{
    const struct collective reduce_scatterv =
        reduce_scatterv_describe(send, recv, counts, dtype, op);

    return retry_run_collective(&reduce_scatterv, comm);
}

enum hoop_status
hoop_reduce_scatterv_start(const void *send,
                           void *recv,
                           const size_t *counts,
                           enum hoop_dtype dtype,
                           enum hoop_reduce_op op,
                           hoop_comm_t *comm,
                           hoop_op_t **out_op)
{
    const struct collective reduce_scatterv =
        reduce_scatterv_describe(send, recv, counts, dtype, op);

    return retry_start_collective(&reduce_scatterv, comm, out_op);
}
