/*
 * api/reduce.c - the public reduce
 *
 * Describes the call; api/collective.c runs it.
 */

#include "api/retry.h"

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
