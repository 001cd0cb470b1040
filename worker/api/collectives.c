/*
 * api/collectives.c - the public collectives on plain buffers
 *
 * Each function describes its call; api/collective.c runs it.
 */

#include "api/collective.h"
#include "api/retry.h"

/* The public allreduce. */

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

/* The public reduce. */

static struct collective
reduce_describe(const void *send,
                void *recv,
                size_t count,
                enum hoop_dtype dtype,
                enum hoop_reduce_op op)
{
    return (struct collective){
        .name = CALL_REDUCE,
        .parts = COLL_REDUCES | COLL_HAS_ROOT | COLL_RECV_AT_ROOT,
        .send = send,
        .recv = recv,
        .count = count,
        .dtype = dtype,
        .op = op,
    };
}

enum hoop_status
hoop_reduce(const void *send,
            void *recv,
            size_t count,
            enum hoop_dtype dtype,
            enum hoop_reduce_op op,
            uint32_t root,
            hoop_comm_t *comm)
{
    struct collective reduce = reduce_describe(send, recv, count, dtype, op);

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
    struct collective reduce = reduce_describe(send, recv, count, dtype, op);

    reduce.root = root;
    return retry_start_collective(&reduce, comm, out_op);
}

/* The public reduce-scatter, with equal and with varying counts. */

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

/* The public inclusive and exclusive scan. */

static struct collective
scan_describe(const void *send,
              void *recv,
              size_t count,
              enum hoop_dtype dtype,
              enum hoop_reduce_op op)
{
    return (struct collective){
        .name = CALL_SCAN,
        .parts = COLL_REDUCES | COLL_IS_PREFIX,
        .send = send,
        .recv = recv,
        .count = count,
        .dtype = dtype,
        .op = op,
    };
}

enum hoop_status
hoop_scan(const void *send,
          void *recv,
          size_t count,
          enum hoop_dtype dtype,
          enum hoop_reduce_op op,
          hoop_comm_t *comm)
{
    const struct collective scan = scan_describe(send, recv, count, dtype, op);

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
    const struct collective scan = scan_describe(send, recv, count, dtype, op);

    return collective_start(&scan, comm, out_op);
}

static struct collective
exscan_describe(const void *send,
                void *recv,
                size_t count,
                enum hoop_dtype dtype,
                enum hoop_reduce_op op)
{
    return (struct collective){
        .name = CALL_EXSCAN,
        .parts = COLL_REDUCES | COLL_IS_PREFIX,
        .send = send,
        .recv = recv,
        .count = count,
        .dtype = dtype,
        .op = op,
    };
}

enum hoop_status
hoop_exscan(const void *send,
            void *recv,
            size_t count,
            enum hoop_dtype dtype,
            enum hoop_reduce_op op,
            hoop_comm_t *comm)
{
    const struct collective exscan =
        exscan_describe(send, recv, count, dtype, op);

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
    const struct collective exscan =
        exscan_describe(send, recv, count, dtype, op);

    return collective_start(&exscan, comm, out_op);
}

/* The public allgather, with equal and with varying counts. */

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

/* The public gather, with equal and with varying counts. */

static struct collective
gather_describe(const void *send,
                void *recv,
                size_t count,
                enum hoop_dtype dtype,
                uint32_t root)
{
    return (struct collective){
        .name = CALL_GATHER,
        .parts = COLL_HAS_ROOT | COLL_RECV_AT_ROOT | COLL_RECV_ALL,
        .send = send,
        .recv = recv,
        .count = count,
        .dtype = dtype,
        .root = root,
    };
}

enum hoop_status
hoop_gather(const void *send,
            void *recv,
            size_t count,
            enum hoop_dtype dtype,
            uint32_t root,
            hoop_comm_t *comm)
{
    const struct collective gather =
        gather_describe(send, recv, count, dtype, root);

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
    const struct collective gather =
        gather_describe(send, recv, count, dtype, root);

    return collective_start(&gather, comm, out_op);
}

static struct collective
gatherv_describe(const void *send,
                 void *recv,
                 const size_t *counts,
                 enum hoop_dtype dtype,
                 uint32_t root)
{
    return (struct collective){
        .name = CALL_GATHERV,
        .parts =
            COLL_HAS_ROOT | COLL_RECV_AT_ROOT | COLL_RECV_ALL | COLL_HAS_COUNTS,
        .send = send,
        .recv = recv,
        .counts = counts,
        .dtype = dtype,
        .root = root,
    };
}

enum hoop_status
hoop_gatherv(const void *send,
             void *recv,
             const size_t *counts,
             enum hoop_dtype dtype,
             uint32_t root,
             hoop_comm_t *comm)
{
    const struct collective gatherv =
        gatherv_describe(send, recv, counts, dtype, root);

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
    const struct collective gatherv =
        gatherv_describe(send, recv, counts, dtype, root);

    return collective_start(&gatherv, comm, out_op);
}

/* The public scatter, with equal and with varying counts. */

static struct collective
scatter_describe(const void *send,
                 void *recv,
                 size_t count,
                 enum hoop_dtype dtype,
                 uint32_t root)
{
    return (struct collective){
        .name = CALL_SCATTER,
        .parts = COLL_HAS_ROOT | COLL_SEND_AT_ROOT | COLL_SEND_ALL,
        .send = send,
        .recv = recv,
        .count = count,
        .dtype = dtype,
        .root = root,
    };
}

enum hoop_status
hoop_scatter(const void *send,
             void *recv,
             size_t count,
             enum hoop_dtype dtype,
             uint32_t root,
             hoop_comm_t *comm)
{
    const struct collective scatter =
        scatter_describe(send, recv, count, dtype, root);

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
    const struct collective scatter =
        scatter_describe(send, recv, count, dtype, root);

    return collective_start(&scatter, comm, out_op);
}

static struct collective
scatterv_describe(const void *send,
                  void *recv,
                  const size_t *counts,
                  enum hoop_dtype dtype,
                  uint32_t root)
{
    return (struct collective){
        .name = CALL_SCATTERV,
        .parts =
            COLL_HAS_ROOT | COLL_SEND_AT_ROOT | COLL_SEND_ALL | COLL_HAS_COUNTS,
        .send = send,
        .recv = recv,
        .counts = counts,
        .dtype = dtype,
        .root = root,
    };
}

enum hoop_status
hoop_scatterv(const void *send,
              void *recv,
              const size_t *counts,
              enum hoop_dtype dtype,
              uint32_t root,
              hoop_comm_t *comm)
{
    const struct collective scatterv =
        scatterv_describe(send, recv, counts, dtype, root);

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
    const struct collective scatterv =
        scatterv_describe(send, recv, counts, dtype, root);

    return collective_start(&scatterv, comm, out_op);
}

/* The public alltoall, with equal and with varying counts. */

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
