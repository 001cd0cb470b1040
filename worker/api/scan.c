/*
 * api/scan.c - the public inclusive and exclusive scan
 *
 * Describes the calls; api/collective.c runs them.
 */

#include "api/collective.h"

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
