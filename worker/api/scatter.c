/*
 * api/scatter.c - the public scatter, with equal and with varying counts
 *
 * Describes the calls; api/collective.c runs them.
 */

#include "api/collective.h"

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
