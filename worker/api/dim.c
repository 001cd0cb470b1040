/*
 * api/dim.c - collectives along any dimension of a tensor
 *
 * Along dimension d a tensor consists of n_outer rows, and each rank's part of
 * a row is one contiguous run of elements. The plain collectives need the runs
 * of one rank side by side, [rank][row], but the larger tensor has [row][rank].
 * So it is reordered by one copy, before a reduce-scatter or after an
 * allgather. With one row no copy is needed.
 */

#include "hoop/dim.h"

#include <stdint.h>
#include <stdlib.h>

#include "api/collective.h"
#include "base/error.h"
#include "dtype/dtype.h"
#include "session/comm.h"
#include "tensor/axis.h"

/* The larger tensor in the order [rank][row], and the user's tensor that it is
 * copied to. */
struct rank_major_tensor {
    struct axis whole;
    uint32_t n_ranks;
    void *user;
    uint8_t bytes[];
};

static enum hoop_status
rank_major_copy_to_user(void *owner)
{
    const struct rank_major_tensor *sorted = owner;

    axis_join(&sorted->whole, sorted->user, sorted->n_ranks, sorted->bytes);
    return HOOP_OK;
}

/* The caller's arguments, and what follows from them. */
struct dim_call {
    const struct hoop_shape *shape;
    int32_t dim;
    struct axis axis;
    size_t agreed[3]; /* must be equal on all ranks */
};

/* With one rank, one row or no elements both orders are the same. */
static bool
dim_call_needs_reorder(const struct dim_call *call, const hoop_comm_t *comm)
{
    return call->axis.n_outer > 1 && axis_count(&call->axis, 1) > 0 &&
           call->axis.length > 0 && context_size(comm->context) > 1;
}

/* Allocate the reordered larger tensor, whose length along the dimension is
 * given. The collective has been checked, so the size fits. */
static struct rank_major_tensor *
rank_major_create(const struct dim_call *call, size_t length, uint32_t n_ranks)
{
    struct rank_major_tensor *sorted =
        malloc(sizeof(*sorted) + axis_bytes(&call->axis, length));

    if (!sorted)
        return NULL;
    sorted->whole = call->axis;
    sorted->whole.length = length;
    sorted->n_ranks = n_ranks;
    return sorted;
}

static enum hoop_status
raise_no_reorder_memory(const struct collective *collective)
{
    return error_raise(HOOP_E_EXHAUSTED,
                       "no memory to sort %zu elements of %s for each rank",
                       collective->count, dtype_name(collective->dtype));
}

/* Gather into reordered memory. rank_major_copy_to_user() copies it to the
 * user's tensor. */
static enum hoop_status
allgather_dim_reorder(struct collective *collective,
                      const struct dim_call *call,
                      const hoop_comm_t *comm)
{
    const struct collective_buffers buffers =
        buffers_from_collective(collective, comm);
    const uint32_t rank = context_rank(comm->context);
    const uint32_t size = context_size(comm->context);
    const size_t length = call->axis.length;
    struct rank_major_tensor *sorted =
        rank_major_create(call, length * size, size);

    if (!sorted)
        return raise_no_reorder_memory(collective);
    sorted->user = buffers.output;
    if (buffers.is_in_place) {
        axis_take(&sorted->whole, buffers.output, rank * length, length,
                  sorted->bytes + rank * axis_bytes(&call->axis, length));
        collective->send = HOOP_IN_PLACE;
    }
    collective->recv = sorted->bytes;
    collective->chain = (struct chain){
        .finish = rank_major_copy_to_user, .destroy = free, .owner = sorted};
    return HOOP_OK;
}

/* Copy the input into reordered memory and reduce from there. */
static enum hoop_status
reduce_scatter_dim_reorder(struct collective *collective,
                           const struct dim_call *call,
                           const hoop_comm_t *comm)
{
    const struct collective_buffers buffers =
        buffers_from_collective(collective, comm);
    const uint32_t size = context_size(comm->context);
    struct rank_major_tensor *sorted =
        rank_major_create(call, call->axis.length, size);

    if (!sorted)
        return raise_no_reorder_memory(collective);
    axis_divide(&sorted->whole, buffers.input, size, sorted->bytes);
    collective->send = sorted->bytes;
    collective->recv = buffers.output;
    collective->chain = (struct chain){.destroy = free, .owner = sorted};
    return HOOP_OK;
}

/* Derive axis, count and agreed from the shape. */
static enum hoop_status
dim_call_derive_counts(struct collective *collective,
                       struct dim_call *call,
                       const hoop_comm_t *comm)
{
    const uint32_t size = context_size(comm->context);
    const enum hoop_status status =
        axis_of(call->shape, call->dim, collective->dtype, &call->axis);

    if (status != HOOP_OK)
        return error_pass(status);
    const struct axis *axis = &call->axis;
    call->agreed[0] = axis->n_outer;
    call->agreed[1] = axis->length;
    call->agreed[2] = axis->n_inner;
    collective->count = axis_count(axis, axis->length);
    collective->agreed = call->agreed;
    collective->n_agreed = 3;
    if (collective->name == CALL_ALLGATHER)
        return HOOP_OK;
    if (axis->length % size != 0)
        return error_raise(HOOP_E_INVALID,
                           "%zu elements along dim %d cannot be cut into %u "
                           "equal parts",
                           axis->length, call->dim, size);
    collective->count /= size;
    return HOOP_OK;
}

/* Turn the call on tensors into one on plain buffers. Does nothing if this
 * process is not a member. *comm NULL becomes the default group's. */
static enum hoop_status
dim_call_prepare(struct collective *collective,
                 struct dim_call *call,
                 hoop_comm_t **comm)
{
    bool is_member;
    enum hoop_status status = comm_call_begin_or_default(comm, &is_member);

    if (status != HOOP_OK || !is_member)
        return status;
    status = dim_call_derive_counts(collective, call, *comm);
    if (status == HOOP_OK)
        status = collective_check(collective, *comm);
    if (status == HOOP_OK && dim_call_needs_reorder(call, *comm))
        status = collective->name == CALL_ALLGATHER
                     ? allgather_dim_reorder(collective, call, *comm)
                     : reduce_scatter_dim_reorder(collective, call, *comm);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
dim_call_run(struct collective collective,
             struct dim_call call,
             hoop_comm_t *comm)
{
    const enum hoop_status status = dim_call_prepare(&collective, &call, &comm);

    if (status != HOOP_OK)
        return error_pass(status);
    return collective_run(&collective, comm);
}

static enum hoop_status
dim_call_start(struct collective collective,
               struct dim_call call,
               hoop_comm_t *comm,
               hoop_op_t **out_op)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_op)
        return error_raise(HOOP_E_INVALID, "out_op is NULL");
    const enum hoop_status status = dim_call_prepare(&collective, &call, &comm);
    if (status != HOOP_OK)
        return error_pass(status);
    return collective_start(&collective, comm, out_op);
}

/* The count of each call is set by dim_call_prepare(). */

enum hoop_status
hoop_allgather_dim(const void *send,
                   void *recv,
                   const struct hoop_shape *shape,
                   int32_t dim,
                   enum hoop_dtype dtype,
                   hoop_comm_t *comm)
{
    return dim_call_run(
        collective_describe(CALL_ALLGATHER, send, recv, 0, dtype),
        (struct dim_call){.shape = shape, .dim = dim}, comm);
}

enum hoop_status
hoop_allgather_dim_start(const void *send,
                         void *recv,
                         const struct hoop_shape *shape,
                         int32_t dim,
                         enum hoop_dtype dtype,
                         hoop_comm_t *comm,
                         hoop_op_t **out_op)
{
    return dim_call_start(
        collective_describe(CALL_ALLGATHER, send, recv, 0, dtype),
        (struct dim_call){.shape = shape, .dim = dim}, comm, out_op);
}

enum hoop_status
hoop_reduce_scatter_dim(const void *send,
                        void *recv,
                        const struct hoop_shape *shape,
                        int32_t dim,
                        enum hoop_dtype dtype,
                        enum hoop_reduce_op op,
                        hoop_comm_t *comm)
{
    struct collective collective =
        collective_describe(CALL_REDUCE_SCATTER, send, recv, 0, dtype);

    collective.op = op;
    return dim_call_run(collective,
                        (struct dim_call){.shape = shape, .dim = dim}, comm);
}

enum hoop_status
hoop_reduce_scatter_dim_start(const void *send,
                              void *recv,
                              const struct hoop_shape *shape,
                              int32_t dim,
                              enum hoop_dtype dtype,
                              enum hoop_reduce_op op,
                              hoop_comm_t *comm,
                              hoop_op_t **out_op)
{
    struct collective collective =
        collective_describe(CALL_REDUCE_SCATTER, send, recv, 0, dtype);

    collective.op = op;
    return dim_call_start(collective,
                          (struct dim_call){.shape = shape, .dim = dim}, comm,
                          out_op);
}
