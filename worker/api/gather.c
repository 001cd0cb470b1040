/*
 * api/gather.c - the public gather, with equal and with varying counts
 *
 * Describes the calls; api/collective.c runs them.
 */

#include "api/collective.h"

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
