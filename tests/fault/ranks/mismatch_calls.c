/* tests/fault/ranks/mismatch_calls.c - collectives as rows of one table */

#include "fault/ranks/mismatch_calls.h"

#include <stdlib.h>

#include "base/cleanup.h"

static enum hoop_status
run_allreduce(const struct matrix_args *args)
{
    return hoop_allreduce(args->send, args->recv, args->count, args->dtype,
                          args->op, args->comm);
}

static enum hoop_status
run_reduce(const struct matrix_args *args)
{
    return hoop_reduce(args->send, args->recv, args->count, args->dtype,
                       args->op, args->root, args->comm);
}

static enum hoop_status
run_broadcast(const struct matrix_args *args)
{
    return hoop_broadcast(args->send, args->recv, args->count, args->dtype,
                          args->root, args->comm);
}

static enum hoop_status
run_allgather(const struct matrix_args *args)
{
    return hoop_allgather(args->send, args->recv, args->count, args->dtype,
                          args->comm);
}

static enum hoop_status
run_allgatherv(const struct matrix_args *args)
{
    return hoop_allgatherv(args->send, args->recv, args->counts, args->dtype,
                           args->comm);
}

static enum hoop_status
run_reduce_scatter(const struct matrix_args *args)
{
    return hoop_reduce_scatter(args->send, args->recv, args->count, args->dtype,
                               args->op, args->comm);
}

static enum hoop_status
run_reduce_scatterv(const struct matrix_args *args)
{
    return hoop_reduce_scatterv(args->send, args->recv, args->counts,
                                args->dtype, args->op, args->comm);
}

static enum hoop_status
run_barrier(const struct matrix_args *args)
{
    return hoop_barrier(args->comm);
}

static enum hoop_status
run_gather(const struct matrix_args *args)
{
    return hoop_gather(args->send, args->recv, args->count, args->dtype,
                       args->root, args->comm);
}

static enum hoop_status
run_gatherv(const struct matrix_args *args)
{
    return hoop_gatherv(args->send, args->recv, args->counts, args->dtype,
                        args->root, args->comm);
}

static enum hoop_status
run_scatter(const struct matrix_args *args)
{
    return hoop_scatter(args->send, args->recv, args->count, args->dtype,
                        args->root, args->comm);
}

static enum hoop_status
run_scatterv(const struct matrix_args *args)
{
    return hoop_scatterv(args->send, args->recv, args->counts, args->dtype,
                         args->root, args->comm);
}

static enum hoop_status
run_alltoall(const struct matrix_args *args)
{
    return hoop_alltoall(args->send, args->recv, args->count, args->dtype,
                         args->comm);
}

static enum hoop_status
run_alltoallv(const struct matrix_args *args)
{
    return hoop_alltoallv(args->send, args->counts, args->recv, args->counts,
                          args->dtype, args->comm);
}

static enum hoop_status
run_scan(const struct matrix_args *args)
{
    return hoop_scan(args->send, args->recv, args->count, args->dtype, args->op,
                     args->comm);
}

static enum hoop_status
run_exscan(const struct matrix_args *args)
{
    return hoop_exscan(args->send, args->recv, args->count, args->dtype,
                       args->op, args->comm);
}

/* The length of an object is no part of the call. It is at most 512 bytes. */
static size_t
object_bytes(const struct matrix_args *args)
{
    return args->count < 512 ? args->count : 512;
}

static enum hoop_status
run_broadcast_object(const struct matrix_args *args)
{
    void *bytes = NULL;
    size_t n_bytes;

    const enum hoop_status status =
        hoop_broadcast_object(args->send, object_bytes(args), &bytes, &n_bytes,
                              args->root, args->comm);
    hoop_object_free(bytes);
    return status;
}

static enum hoop_status
run_gather_object(const struct matrix_args *args)
{
    struct hoop_objects objects = {0};

    const enum hoop_status status = hoop_gather_object(
        args->send, object_bytes(args), &objects, args->root, args->comm);
    hoop_objects_free(&objects);
    return status;
}

static enum hoop_status
run_allgather_object(const struct matrix_args *args)
{
    struct hoop_objects objects = {0};

    const enum hoop_status status = hoop_allgather_object(
        args->send, object_bytes(args), &objects, args->comm);
    hoop_objects_free(&objects);
    return status;
}

static enum hoop_status
run_scatter_object(const struct matrix_args *args)
{
    const uint32_t size = hoop_comm_size(args->comm);
    CLEANUP(free) struct hoop_object *objects = calloc(size, sizeof(*objects));
    void *bytes = NULL;
    size_t n_bytes;

    for (uint32_t rank = 0; rank < size; rank++)
        objects[rank] = (struct hoop_object){args->send, object_bytes(args)};
    const enum hoop_status status =
        hoop_scatter_object(objects, &bytes, &n_bytes, args->root, args->comm);
    hoop_object_free(bytes);
    return status;
}

/* The buffer is reduced as two pieces. */
static enum hoop_status
run_allreduce_coalesced(const struct matrix_args *args)
{
    const size_t n_first = args->count / 2;
    const struct hoop_piece pieces[] = {
        {args->send, args->recv, n_first},
        {(const int32_t *)args->send + n_first, (int32_t *)args->recv + n_first,
         args->count - n_first},
    };

    return hoop_allreduce_coalesced(pieces, 2, args->dtype, args->op,
                                    args->comm);
}

enum {
    TYPED = MATRIX_HAS_DTYPE | MATRIX_HAS_COUNT,
    BLOCKS = TYPED | MATRIX_IN_BLOCKS,
    V_FORM = BLOCKS | MATRIX_HAS_COUNTS,
    ROOTED = MATRIX_HAS_ROOT,
    REDUCES = MATRIX_HAS_OP,
};

const struct matrix_call matrix_calls[] = {
    {"allreduce", TYPED | REDUCES, run_allreduce},
    {"reduce", TYPED | REDUCES | ROOTED, run_reduce},
    {"broadcast", TYPED | ROOTED, run_broadcast},
    {"allgather", BLOCKS, run_allgather},
    {"allgatherv", V_FORM, run_allgatherv},
    {"reduce_scatter", BLOCKS | REDUCES, run_reduce_scatter},
    {"reduce_scatterv", V_FORM | REDUCES, run_reduce_scatterv},
    {"barrier", 0, run_barrier},
    {"gather", BLOCKS | ROOTED, run_gather},
    {"gatherv", V_FORM | ROOTED, run_gatherv},
    {"scatter", BLOCKS | ROOTED, run_scatter},
    {"scatterv", V_FORM | ROOTED, run_scatterv},
    {"alltoall", BLOCKS, run_alltoall},
    /* Each of its counts concerns only two ranks and has a test of its own. */
    {"alltoallv", MATRIX_HAS_DTYPE | MATRIX_IN_BLOCKS, run_alltoallv},
    {"scan", TYPED | REDUCES, run_scan},
    {"exscan", TYPED | REDUCES, run_exscan},
    {"broadcast_object", ROOTED, run_broadcast_object},
    {"gather_object", ROOTED, run_gather_object},
    {"allgather_object", 0, run_allgather_object},
    {"scatter_object", ROOTED, run_scatter_object},
    {"allreduce_coalesced", TYPED | REDUCES, run_allreduce_coalesced},
};

const size_t n_matrix_calls = sizeof(matrix_calls) / sizeof(*matrix_calls);
