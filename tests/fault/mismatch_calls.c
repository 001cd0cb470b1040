/* tests/fault/mismatch_calls.c - every collective as a row of one table */

#include "mismatch_calls.h"

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
    /* Its counts are a matter of two ranks each: a test of their own. */
    {"alltoallv", MATRIX_HAS_DTYPE | MATRIX_IN_BLOCKS, run_alltoallv},
    {"scan", TYPED | REDUCES, run_scan},
    {"exscan", TYPED | REDUCES, run_exscan},
};

const size_t n_matrix_calls = sizeof(matrix_calls) / sizeof(*matrix_calls);
