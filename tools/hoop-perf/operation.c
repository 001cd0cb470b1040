/* hoop-perf/operation.c - the operations: sizes, factors, how to call them */

#include "hoop-perf/operation.h"

#include <stdlib.h>
#include <string.h>

static enum hoop_status
allreduce_run(const struct call *call)
{
    return hoop_allreduce(call->send, call->receive, call->count, call->dtype,
                          call->reduce_op, call->comm);
}

static enum hoop_status
allgather_run(const struct call *call)
{
    return hoop_allgather(call->send, call->receive, call->count, call->dtype,
                          call->comm);
}

static enum hoop_status
reduce_scatter_run(const struct call *call)
{
    return hoop_reduce_scatter(call->send, call->receive, call->count,
                               call->dtype, call->reduce_op, call->comm);
}

static enum hoop_status
broadcast_run(const struct call *call)
{
    return hoop_broadcast(call->send, call->receive, call->count, call->dtype,
                          call->root, call->comm);
}

static enum hoop_status
reduce_run(const struct call *call)
{
    return hoop_reduce(call->send, call->receive, call->count, call->dtype,
                       call->reduce_op, call->root, call->comm);
}

/* Everybody sends to the next and receives from the previous rank. */
static enum hoop_status
sendrecv_run(const struct call *call)
{
    const uint32_t n = hoop_comm_size(call->comm);
    const uint32_t rank = hoop_comm_rank(call->comm);
    hoop_op_t *ops[2] = {NULL, NULL};

    enum hoop_status status =
        hoop_recv_start(call->receive, call->count, call->dtype,
                        (rank + n - 1) % n, 0, call->comm, NULL, &ops[0]);
    if (status != HOOP_OK)
        return status;
    status = hoop_send_start(call->send, call->count, call->dtype,
                             (rank + 1) % n, 0, call->comm, &ops[1]);
    if (status != HOOP_OK)
        return status;
    return hoop_wait_all(ops, 2, HOOP_FOREVER);
}

/* The uneven forms, with even counts: what they cost beside the even ones.
 * NULL without memory, which hoop refuses with a text. The caller's. */
static size_t *
even_counts(const struct call *call)
{
    const uint32_t n = hoop_comm_size(call->comm);
    size_t *counts = calloc(n, sizeof(*counts));

    for (uint32_t rank = 0; counts && rank < n; rank++)
        counts[rank] = call->count;
    return counts;
}

static enum hoop_status
allgatherv_run(const struct call *call)
{
    size_t *counts = even_counts(call);
    const enum hoop_status status = hoop_allgatherv(
        call->send, call->receive, counts, call->dtype, call->comm);

    free(counts);
    return status;
}

static enum hoop_status
reduce_scatterv_run(const struct call *call)
{
    size_t *counts = even_counts(call);
    const enum hoop_status status =
        hoop_reduce_scatterv(call->send, call->receive, counts, call->dtype,
                             call->reduce_op, call->comm);

    free(counts);
    return status;
}

static enum hoop_status
barrier_run(const struct call *call)
{
    return hoop_barrier(call->comm);
}

const struct operation operations[OPERATION_COUNT] = {
    {"allreduce", LAYOUT_SAME, true, true, false, allreduce_run},
    {"allgather", LAYOUT_GATHER, false, true, false, allgather_run},
    {"allgatherv", LAYOUT_GATHER, false, true, false, allgatherv_run},
    {"reduce_scatter", LAYOUT_SCATTER, true, true, false, reduce_scatter_run},
    {"reduce_scatterv", LAYOUT_SCATTER, true, true, false, reduce_scatterv_run},
    {"broadcast", LAYOUT_SAME, false, true, true, broadcast_run},
    {"reduce", LAYOUT_SAME, true, true, true, reduce_run},
    {"sendrecv", LAYOUT_SAME, false, false, false, sendrecv_run},
    {"barrier", LAYOUT_NONE, false, false, false, barrier_run},
};

const struct operation *
operation_find(const char *name)
{
    for (size_t i = 0; i < OPERATION_COUNT; i++) {
        if (strcmp(operations[i].name, name) == 0)
            return &operations[i];
    }
    return NULL;
}

struct extent
operation_extent(const struct operation *operation,
                 size_t n_bytes,
                 size_t element_size,
                 uint32_t n_ranks)
{
    const size_t whole = n_bytes / element_size;
    const size_t share = whole / n_ranks;
    const size_t all = share * n_ranks;

    switch (operation->layout) {
    case LAYOUT_SAME:
        return (struct extent){whole * element_size, whole, whole, whole};
    case LAYOUT_GATHER:
        return (struct extent){all * element_size, share, share, all};
    case LAYOUT_SCATTER:
        return (struct extent){all * element_size, share, all, share};
    case LAYOUT_NONE:
        break;
    }
    return (struct extent){0, 0, 0, 0};
}

double
operation_bus_factor(const struct operation *operation, uint32_t n_ranks)
{
    const double share = (double)(n_ranks - 1) / n_ranks;

    if (operation->run == allreduce_run)
        return 2 * share;
    if (operation->layout == LAYOUT_GATHER ||
        operation->layout == LAYOUT_SCATTER)
        return share;
    return 1;
}
