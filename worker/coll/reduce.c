/*
 * coll/reduce.c - the public reduce
 *
 * Only what is its own; the rest is coll/collective.c.
 */

#include "coll/collective.h"

enum hoop_status
hoop_reduce(const void *send,
            void *recv,
            size_t count,
            enum hoop_dtype dtype,
            enum hoop_reduce_op op,
            uint32_t root,
            hoop_comm_t *comm)
{
    const struct collective collective = {
        .name = CALL_REDUCE,
        .parts = COLL_REDUCES | COLL_HAS_ROOT | COLL_RECV_AT_ROOT,
        .send = send,
        .recv = recv,
        .count = count,
        .dtype = dtype,
        .op = op,
        .root = root,
        .comm = comm,
    };

    return collective_run(&collective);
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
    const struct collective collective = {
        .name = CALL_REDUCE,
        .parts = COLL_REDUCES | COLL_HAS_ROOT | COLL_RECV_AT_ROOT,
        .send = send,
        .recv = recv,
        .count = count,
        .dtype = dtype,
        .op = op,
        .root = root,
        .comm = comm,
    };

    return collective_start(&collective, out_op);
}
