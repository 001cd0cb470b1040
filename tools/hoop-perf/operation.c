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

static enum hoop_status
gather_run(const struct call *call)
{
    return hoop_gather(call->send, call->receive, call->count, call->dtype,
                       call->root, call->comm);
}

static enum hoop_status
scatter_run(const struct call *call)
{
    return hoop_scatter(call->send, call->receive, call->count, call->dtype,
                        call->root, call->comm);
}

static enum hoop_status
alltoall_run(const struct call *call)
{
    return hoop_alltoall(call->send, call->receive, call->count, call->dtype,
                         call->comm);
}

static enum hoop_status
scan_run(const struct call *call)
{
    return hoop_scan(call->send, call->receive, call->count, call->dtype,
                     call->reduce_op, call->comm);
}

static enum hoop_status
exscan_run(const struct call *call)
{
    return hoop_exscan(call->send, call->receive, call->count, call->dtype,
                       call->reduce_op, call->comm);
}

/* Each rank sends to the next and receives from the previous one. */
static enum hoop_status
sendrecv_run(const struct call *call)
{
    const uint32_t n = hoop_comm_size(call->comm);
    const uint32_t rank = hoop_comm_rank(call->comm);
    const struct hoop_message send = {
        .kind = HOOP_SEND,
        .buffer = (void *)(uintptr_t)call->send,
        .count = call->count,
        .dtype = call->dtype,
        .peer = (rank + 1) % n,
    };
    const struct hoop_message receive = {
        .kind = HOOP_RECV,
        .buffer = call->receive,
        .count = call->count,
        .dtype = call->dtype,
        .peer = (rank + n - 1) % n,
    };

    return hoop_sendrecv(&send, &receive, call->comm, NULL);
}

/* Counts for the uneven variants, all equal, to compare them with the even
 * ones. NULL without memory, which hoop refuses with a text. The caller frees
 * it. */
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
gatherv_run(const struct call *call)
{
    size_t *counts = even_counts(call);
    const enum hoop_status status = hoop_gatherv(
        call->send, call->receive, counts, call->dtype, call->root, call->comm);

    free(counts);
    return status;
}

static enum hoop_status
scatterv_run(const struct call *call)
{
    size_t *counts = even_counts(call);
    const enum hoop_status status = hoop_scatterv(
        call->send, call->receive, counts, call->dtype, call->root, call->comm);

    free(counts);
    return status;
}

static enum hoop_status
alltoallv_run(const struct call *call)
{
    size_t *counts = even_counts(call);
    const enum hoop_status status = hoop_alltoallv(
        call->send, counts, call->receive, counts, call->dtype, call->comm);

    free(counts);
    return status;
}

static enum hoop_status
barrier_run(const struct call *call)
{
    return hoop_barrier(call->comm);
}

const struct operation operations[OPERATION_COUNT] = {
    {"allreduce", LAYOUT_SAME, RESULT_REDUCED, ROOT_NONE, true, allreduce_run},
    {"allgather", LAYOUT_GATHER, RESULT_GATHERED, ROOT_NONE, true,
     allgather_run},
    {"allgatherv", LAYOUT_GATHER, RESULT_GATHERED, ROOT_NONE, true,
     allgatherv_run},
    {"reduce_scatter", LAYOUT_SCATTER, RESULT_REDUCED, ROOT_NONE, true,
     reduce_scatter_run},
    {"reduce_scatterv", LAYOUT_SCATTER, RESULT_REDUCED, ROOT_NONE, true,
     reduce_scatterv_run},
    {"broadcast", LAYOUT_SAME, RESULT_ROOTS, ROOT_PUTS_IN, true, broadcast_run},
    {"reduce", LAYOUT_SAME, RESULT_REDUCED, ROOT_GETS_OUT, true, reduce_run},
    {"gather", LAYOUT_GATHER, RESULT_GATHERED, ROOT_GETS_OUT, true, gather_run},
    {"gatherv", LAYOUT_GATHER, RESULT_GATHERED, ROOT_GETS_OUT, true,
     gatherv_run},
    {"scatter", LAYOUT_SCATTER, RESULT_ROOTS, ROOT_PUTS_IN, true, scatter_run},
    {"scatterv", LAYOUT_SCATTER, RESULT_ROOTS, ROOT_PUTS_IN, true,
     scatterv_run},
    {"alltoall", LAYOUT_EXCHANGE, RESULT_EXCHANGED, ROOT_NONE, true,
     alltoall_run},
    {"alltoallv", LAYOUT_EXCHANGE, RESULT_EXCHANGED, ROOT_NONE, true,
     alltoallv_run},
    {"scan", LAYOUT_SAME, RESULT_PREFIX, ROOT_NONE, true, scan_run},
    {"exscan", LAYOUT_SAME, RESULT_BEFORE, ROOT_NONE, true, exscan_run},
    {"sendrecv", LAYOUT_SAME, RESULT_PREVIOUS, ROOT_NONE, false, sendrecv_run},
    {"barrier", LAYOUT_NONE, RESULT_NONE, ROOT_NONE, false, barrier_run},
};

bool
operation_reduces(const struct operation *operation)
{
    switch (operation->result) {
    case RESULT_REDUCED:
    case RESULT_PREFIX:
    case RESULT_BEFORE:
        return true;
    case RESULT_NONE:
    case RESULT_ROOTS:
    case RESULT_PREVIOUS:
    case RESULT_GATHERED:
    case RESULT_EXCHANGED:
        break;
    }
    return false;
}

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
    case LAYOUT_EXCHANGE:
        return (struct extent){all * element_size, share, all, all};
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
        operation->layout == LAYOUT_SCATTER ||
        operation->layout == LAYOUT_EXCHANGE)
        return share;
    return 1;
}
