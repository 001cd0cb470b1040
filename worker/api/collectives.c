/*
 * api/collectives.c - the public collectives on plain buffers
 *
 * Each function describes its call; api/collective.c runs it.
 */

#include "api/collective.h"
#include "api/retry.h"

/* The public allreduce. */

enum hoop_status
hoop_allreduce(const void *send,
               void *recv,
               size_t count,
               enum hoop_dtype dtype,
               enum hoop_reduce_op op,
               hoop_comm_t *comm)
{
    struct collective allreduce =
        collective_describe(CALL_ALLREDUCE, send, recv, count, dtype);

    allreduce.op = op;
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
    struct collective allreduce =
        collective_describe(CALL_ALLREDUCE, send, recv, count, dtype);

    allreduce.op = op;
    return retry_start_collective(&allreduce, comm, out_op);
}

/* The public barrier. */

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

/* The public broadcast. */

enum hoop_status
hoop_broadcast(const void *send,
               void *recv,
               size_t count,
               enum hoop_dtype dtype,
               uint32_t root,
               hoop_comm_t *comm)
{
    struct collective broadcast =
        collective_describe(CALL_BROADCAST, send, recv, count, dtype);

    broadcast.root = root;
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
    struct collective broadcast =
        collective_describe(CALL_BROADCAST, send, recv, count, dtype);

    broadcast.root = root;
    return retry_start_collective(&broadcast, comm, out_op);
}

/* The public reduce. */

enum hoop_status
hoop_reduce(const void *send,
            void *recv,
            size_t count,
            enum hoop_dtype dtype,
            enum hoop_reduce_op op,
            uint32_t root,
            hoop_comm_t *comm)
{
    struct collective reduce =
        collective_describe(CALL_REDUCE, send, recv, count, dtype);

    reduce.op = op;
    reduce.root = root;
    return retry_run_collective(&reduce, comm);
}

enum hoop_status
hoop_reduce_start(const void *send,
                  void *recv,
                  size_t count,
                  enum hoop_dtype dtype,
                  enum hoop_reduce_op op,
                  uint32_t root,
                  hoop_comm_t *comm,
                  hoop_op_t **out_op)
{
    struct collective reduce =
        collective_describe(CALL_REDUCE, send, recv, count, dtype);

    reduce.op = op;
    reduce.root = root;
    return retry_start_collective(&reduce, comm, out_op);
}

/* The public reduce-scatter, with equal and with varying counts. */

enum hoop_status
hoop_reduce_scatter(const void *send,
                    void *recv,
                    size_t count,
                    enum hoop_dtype dtype,
                    enum hoop_reduce_op op,
                    hoop_comm_t *comm)
{
    struct collective reduce_scatter =
        collective_describe(CALL_REDUCE_SCATTER, send, recv, count, dtype);

    reduce_scatter.op = op;
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
    struct collective reduce_scatter =
        collective_describe(CALL_REDUCE_SCATTER, send, recv, count, dtype);

    reduce_scatter.op = op;
    return retry_start_collective(&reduce_scatter, comm, out_op);
}

enum hoop_status
hoop_reduce_scatterv(const void *send,
                     void *recv,
                     const size_t *counts,
                     enum hoop_dtype dtype,
                     enum hoop_reduce_op op,
                     hoop_comm_t *comm)
{
    struct collective reduce_scatterv =
        collective_describe(CALL_REDUCE_SCATTERV, send, recv, 0, dtype);

    reduce_scatterv.counts = counts;
    reduce_scatterv.op = op;
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
    struct collective reduce_scatterv =
        collective_describe(CALL_REDUCE_SCATTERV, send, recv, 0, dtype);

    reduce_scatterv.counts = counts;
    reduce_scatterv.op = op;
    return retry_start_collective(&reduce_scatterv, comm, out_op);
}

/* The public inclusive and exclusive scan. */

enum hoop_status
hoop_scan(const void *send,
          void *recv,
          size_t count,
          enum hoop_dtype dtype,
          enum hoop_reduce_op op,
          hoop_comm_t *comm)
{
    struct collective scan =
        collective_describe(CALL_SCAN, send, recv, count, dtype);

    scan.op = op;
    return collective_run(&scan, comm);
}

enum hoop_status
hoop_scan_start(const void *send,
                void *recv,
                size_t count,
                enum hoop_dtype dtype,
                enum hoop_reduce_op op,
                hoop_comm_t *comm,
                hoop_op_t **out_op)
{
    struct collective scan =
        collective_describe(CALL_SCAN, send, recv, count, dtype);

    scan.op = op;
    return collective_start(&scan, comm, out_op);
}

enum hoop_status
hoop_exscan(const void *send,
            void *recv,
            size_t count,
            enum hoop_dtype dtype,
            enum hoop_reduce_op op,
            hoop_comm_t *comm)
{
    struct collective exscan =
        collective_describe(CALL_EXSCAN, send, recv, count, dtype);

    exscan.op = op;
    return collective_run(&exscan, comm);
}

enum hoop_status
hoop_exscan_start(const void *send,
                  void *recv,
                  size_t count,
                  enum hoop_dtype dtype,
                  enum hoop_reduce_op op,
                  hoop_comm_t *comm,
                  hoop_op_t **out_op)
{
    struct collective exscan =
        collective_describe(CALL_EXSCAN, send, recv, count, dtype);

    exscan.op = op;
    return collective_start(&exscan, comm, out_op);
}

/* The public allgather, with equal and with varying counts. */

enum hoop_status
hoop_allgather(const void *send,
               void *recv,
               size_t count,
               enum hoop_dtype dtype,
               hoop_comm_t *comm)
{
    const struct collective allgather =
        collective_describe(CALL_ALLGATHER, send, recv, count, dtype);

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
        collective_describe(CALL_ALLGATHER, send, recv, count, dtype);

    return retry_start_collective(&allgather, comm, out_op);
}

enum hoop_status
hoop_allgatherv(const void *send,
                void *recv,
                const size_t *counts,
                enum hoop_dtype dtype,
                hoop_comm_t *comm)
{
    struct collective allgatherv =
        collective_describe(CALL_ALLGATHERV, send, recv, 0, dtype);

    allgatherv.counts = counts;
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
    struct collective allgatherv =
        collective_describe(CALL_ALLGATHERV, send, recv, 0, dtype);

    allgatherv.counts = counts;
    return retry_start_collective(&allgatherv, comm, out_op);
}

/* The public gather, with equal and with varying counts. */

enum hoop_status
hoop_gather(const void *send,
            void *recv,
            size_t count,
            enum hoop_dtype dtype,
            uint32_t root,
            hoop_comm_t *comm)
{
    struct collective gather =
        collective_describe(CALL_GATHER, send, recv, count, dtype);

    gather.root = root;
    return collective_run(&gather, comm);
}

enum hoop_status
hoop_gather_start(const void *send,
                  void *recv,
                  size_t count,
                  enum hoop_dtype dtype,
                  uint32_t root,
                  hoop_comm_t *comm,
                  hoop_op_t **out_op)
{
    struct collective gather =
        collective_describe(CALL_GATHER, send, recv, count, dtype);

    gather.root = root;
    return collective_start(&gather, comm, out_op);
}

enum hoop_status
hoop_gatherv(const void *send,
             void *recv,
             const size_t *counts,
             enum hoop_dtype dtype,
             uint32_t root,
             hoop_comm_t *comm)
{
    struct collective gatherv =
        collective_describe(CALL_GATHERV, send, recv, 0, dtype);

    gatherv.counts = counts;
    gatherv.root = root;
    return collective_run(&gatherv, comm);
}

enum hoop_status
hoop_gatherv_start(const void *send,
                   void *recv,
                   const size_t *counts,
                   enum hoop_dtype dtype,
                   uint32_t root,
                   hoop_comm_t *comm,
                   hoop_op_t **out_op)
{
    struct collective gatherv =
        collective_describe(CALL_GATHERV, send, recv, 0, dtype);

    gatherv.counts = counts;
    gatherv.root = root;
    return collective_start(&gatherv, comm, out_op);
}

/* The public scatter, with equal and with varying counts. */

enum hoop_status
hoop_scatter(const void *send,
             void *recv,
             size_t count,
             enum hoop_dtype dtype,
             uint32_t root,
             hoop_comm_t *comm)
{
    struct collective scatter =
        collective_describe(CALL_SCATTER, send, recv, count, dtype);

    scatter.root = root;
    return collective_run(&scatter, comm);
}

enum hoop_status
hoop_scatter_start(const void *send,
                   void *recv,
                   size_t count,
                   enum hoop_dtype dtype,
                   uint32_t root,
                   hoop_comm_t *comm,
                   hoop_op_t **out_op)
{
    struct collective scatter =
        collective_describe(CALL_SCATTER, send, recv, count, dtype);

    scatter.root = root;
    return collective_start(&scatter, comm, out_op);
}

enum hoop_status
hoop_scatterv(const void *send,
              void *recv,
              const size_t *counts,
              enum hoop_dtype dtype,
              uint32_t root,
              hoop_comm_t *comm)
{
    struct collective scatterv =
        collective_describe(CALL_SCATTERV, send, recv, 0, dtype);

    scatterv.counts = counts;
    scatterv.root = root;
    return collective_run(&scatterv, comm);
}

enum hoop_status
hoop_scatterv_start(const void *send,
                    void *recv,
                    const size_t *counts,
                    enum hoop_dtype dtype,
                    uint32_t root,
                    hoop_comm_t *comm,
                    hoop_op_t **out_op)
{
    struct collective scatterv =
        collective_describe(CALL_SCATTERV, send, recv, 0, dtype);

    scatterv.counts = counts;
    scatterv.root = root;
    return collective_start(&scatterv, comm, out_op);
}

/* The public alltoall, with equal and with varying counts. */

enum hoop_status
hoop_alltoall(const void *send,
              void *recv,
              size_t count,
              enum hoop_dtype dtype,
              hoop_comm_t *comm)
{
    const struct collective alltoall =
        collective_describe(CALL_ALLTOALL, send, recv, count, dtype);

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
        collective_describe(CALL_ALLTOALL, send, recv, count, dtype);

    return collective_start(&alltoall, comm, out_op);
}

enum hoop_status
hoop_alltoallv(const void *send,
               const size_t *send_counts,
               void *recv,
               const size_t *recv_counts,
               enum hoop_dtype dtype,
               hoop_comm_t *comm)
{
    struct collective alltoallv =
        collective_describe(CALL_ALLTOALLV, send, recv, 0, dtype);

    alltoallv.counts = send_counts;
    alltoallv.recv_counts = recv_counts;
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
    struct collective alltoallv =
        collective_describe(CALL_ALLTOALLV, send, recv, 0, dtype);

    alltoallv.counts = send_counts;
    alltoallv.recv_counts = recv_counts;
    return collective_start(&alltoallv, comm, out_op);
}
