/*
 * coll/allgather.c - the public allgather, even and uneven
 *
 * Only what is its own; the rest is coll/collective.c.
 */

#include "coll/collective.h"

enum hoop_status
hoop_allgather(const void *send,
               void *recv,
               size_t count,
               enum hoop_dtype dtype,
               hoop_comm_t *comm)
{
    const struct collective collective = {
        .name = CALL_ALLGATHER,
        .parts = COLL_RECV_ALL,
        .send = send,
        .recv = recv,
        .count = count,
        .dtype = dtype,
        .comm = comm,
    };

    return collective_run(&collective);
}

enum hoop_status
hoop_allgather_start(const void *send,
                     void *recv,
                     size_t count,
                     enum hoop_dtype dtype,
                     hoop_comm_t *comm,
                     hoop_op_t **out_op)
{
    const struct collective collective = {
        .name = CALL_ALLGATHER,
        .parts = COLL_RECV_ALL,
        .send = send,
        .recv = recv,
        .count = count,
        .dtype = dtype,
        .comm = comm,
    };

    return collective_start(&collective, out_op);
}

enum hoop_status
hoop_allgatherv(const void *send,
                void *recv,
                const size_t *counts,
                enum hoop_dtype dtype,
                hoop_comm_t *comm)
{
    const struct collective collective = {
        .name = CALL_ALLGATHERV,
        .parts = COLL_RECV_ALL | COLL_HAS_COUNTS,
        .send = send,
        .recv = recv,
        .counts = counts,
        .dtype = dtype,
        .comm = comm,
    };

    return collective_run(&collective);
}

enum hoop_status
hoop_allgatherv_start(const void *send,
                      void *recv,
                      const size_t *counts,
                      enum hoop_dtype dtype,
                      hoop_comm_t *comm,
                      hoop_op_t **out_op)
{
    const struct collective collective = {
        .name = CALL_ALLGATHERV,
        .parts = COLL_RECV_ALL | COLL_HAS_COUNTS,
        .send = send,
        .recv = recv,
        .counts = counts,
        .dtype = dtype,
        .comm = comm,
    };

    return collective_start(&collective, out_op);
}
