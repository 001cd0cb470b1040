/*
 * api/internal_collective.c - collectives for the library's own use, never
 * retried
 */

#include "api/internal_collective.h"

#include "api/collective.h"

enum hoop_status
internal_barrier(hoop_comm_t *comm)
{
    const struct collective barrier = {
        .name = CALL_BARRIER,
        .parts = COLL_NO_BUFFERS,
    };

    return collective_run(&barrier, comm);
}

enum hoop_status
internal_broadcast(void *bytes,
                   size_t n_bytes,
                   uint32_t root,
                   hoop_comm_t *comm)
{
    const struct collective broadcast = {
        .name = CALL_BROADCAST,
        .parts = COLL_HAS_ROOT | COLL_SEND_AT_ROOT,
        .send = HOOP_IN_PLACE,
        .recv = bytes,
        .count = n_bytes,
        .dtype = HOOP_UINT8,
        .root = root,
    };

    return collective_run(&broadcast, comm);
}

enum hoop_status
internal_allgather(const void *send,
                   void *recv,
                   size_t count,
                   enum hoop_dtype dtype,
                   hoop_comm_t *comm)
{
    const struct collective allgather = {
        .name = CALL_ALLGATHER,
        .parts = COLL_RECV_ALL,
        .send = send,
        .recv = recv,
        .count = count,
        .dtype = dtype,
    };

    return collective_run(&allgather, comm);
}

enum hoop_status
internal_allgatherv(const void *send,
                    void *recv,
                    const size_t *counts,
                    enum hoop_dtype dtype,
                    hoop_comm_t *comm)
{
    const struct collective allgatherv = {
        .name = CALL_ALLGATHERV,
        .parts = COLL_RECV_ALL | COLL_HAS_COUNTS,
        .send = send,
        .recv = recv,
        .counts = counts,
        .dtype = dtype,
    };

    return collective_run(&allgatherv, comm);
}

enum hoop_status
internal_allreduce_max(uint64_t *number, hoop_comm_t *comm)
{
    const struct collective greatest = {
        .name = CALL_ALLREDUCE,
        .parts = COLL_REDUCES,
        .send = HOOP_IN_PLACE,
        .recv = number,
        .count = 1,
        .dtype = HOOP_UINT64,
        .op = HOOP_MAX,
    };

    return collective_run(&greatest, comm);
}
