/*
 * api/alltoall.c - the public alltoall, with equal and with varying counts
 *
 * Describes the calls; api/collective.c runs them.
 */

#include "api/collective.h"

static struct collective
alltoall_describe(const void *send,
                  void *recv,
                  size_t count,
                  enum hoop_dtype dtype)
{
    return (struct collective){
        .name = CALL_ALLTOALL,
        .parts = COLL_SEND_ALL | COLL_RECV_ALL,
        .send = send,
        .recv = recv,
        .count = count,
        .dtype = dtype,
    };
}

enum hoop_status
hoop_alltoall(const void *send,
              void *recv,
              size_t count,
              enum hoop_dtype dtype,
              hoop_comm_t *comm)
{
    const struct collective alltoall =
        alltoall_describe(send, recv, count, dtype);

    return collective_run(&alltoall, comm);
}

enum hoop_status
hoop_alltoall_start(const void *send,
                    void *recv,
                    size_t count,
                    enum hoop_dtype dtype,
                    hoop_comm_t *comm,
                    hoop_op_t **out_op)
{
    const struct collective alltoall =
        alltoall_describe(send, recv, count, dtype);

    return collective_start(&alltoall, comm, out_op);
}

static struct collective
alltoallv_describe(const void *send,
                   const size_t *send_counts,
                   void *recv,
                   const size_t *recv_counts,
                   enum hoop_dtype dtype)
{
    return (struct collective){
        .name = CALL_ALLTOALLV,
        .parts = COLL_SEND_ALL | COLL_RECV_ALL | COLL_HAS_COUNTS |
                 COLL_HAS_RECV_COUNTS,
        .send = send,
        .counts = send_counts,
        .recv = recv,
        .recv_counts = recv_counts,
        .dtype = dtype,
    };
}

enum hoop_status
hoop_alltoallv(const void *send,
               const size_t *send_counts,
               void *recv,
               const size_t *recv_counts,
               enum hoop_dtype dtype,
               hoop_comm_t *comm)
{
    const struct collective alltoallv =
        alltoallv_describe(send, send_counts, recv, recv_counts, dtype);

    return collective_run(&alltoallv, comm);
}

enum hoop_status
hoop_alltoallv_start(const void *send,
                     const size_t *send_counts,
                     void *recv,
                     const size_t *recv_counts,
                     enum hoop_dtype dtype,
                     hoop_comm_t *comm,
                     hoop_op_t **out_op)
{
    const struct collective alltoallv =
        alltoallv_describe(send, send_counts, recv, recv_counts, dtype);

    return collective_start(&alltoallv, comm, out_op);
}
