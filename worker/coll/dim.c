/*
 * coll/dim.c - collectives along any dimension of a tensor
 *
 * Seen from dimension d a tensor is n_outer rows, and along d each rank's part
 * of a row is one run of elements. The flat collectives want a rank's runs side
 * by side: [rank][row], whereas the larger tensor has [row][rank]. Sorting is
 * one copy, before a reduce-scatter or after an allgather; one row needs none.
 */

#include "hoop/dim.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "coll/buffers.h"
#include "coll/collective.h"
#include "coll/presence.h"
#include "dtype/dtype.h"
#include "session/comm.h"

/* The larger tensor's runs: rows x ranks of n_bytes. */
struct runs {
    size_t n_rows;
    uint32_t n_ranks;
    size_t n_bytes;
};

/* A tensor sorted by rank, and the user's it will be copied to. */
struct sorted {
    struct runs runs;
    uint8_t *user;
    uint8_t bytes[];
};

/* The rank's run of a row, in both orders. */
static size_t
by_rank(const struct runs *runs, uint32_t rank, size_t row)
{
    return (rank * runs->n_rows + row) * runs->n_bytes;
}

static size_t
by_row(const struct runs *runs, uint32_t rank, size_t row)
{
    return (row * runs->n_ranks + rank) * runs->n_bytes;
}

static enum hoop_status
sorted_finish(void *owner)
{
    const struct sorted *sorted = owner;
    const struct runs *runs = &sorted->runs;

    for (size_t row = 0; row < runs->n_rows; row++) {
        for (uint32_t rank = 0; rank < runs->n_ranks; rank++)
            memcpy(sorted->user + by_row(runs, rank, row),
                   sorted->bytes + by_rank(runs, rank, row), runs->n_bytes);
    }
    return HOOP_OK;
}

/* Ranks first to end - 1 of the user's tensor. */
static void
sorted_fill(struct sorted *sorted,
            const uint8_t *user,
            uint32_t first,
            uint32_t end)
{
    const struct runs *runs = &sorted->runs;

    for (size_t row = 0; row < runs->n_rows; row++) {
        for (uint32_t rank = first; rank < end; rank++)
            memcpy(sorted->bytes + by_rank(runs, rank, row),
                   user + by_row(runs, rank, row), runs->n_bytes);
    }
}

static struct sorted *
sorted_create(const struct runs *runs)
{
    struct sorted *sorted =
        malloc(sizeof(*sorted) + runs->n_rows * runs->n_ranks * runs->n_bytes);

    if (sorted)
        sorted->runs = *runs;
    return sorted;
}

/* What the caller said of its tensor. */
struct extent_call {
    const struct hoop_extent *extent;
    uint32_t dim;
    /* What follows from it. */
    size_t n_rows;
    size_t length; /* shape[dim] */
    size_t n_inner;
    size_t agreed[3]; /* the same on all ranks */
};

static enum hoop_status
extent_measure(struct extent_call *call)
{
    const struct hoop_extent *extent = call->extent;
    size_t count = 1;

    if (!extent || !extent->shape)
        return error_raise(HOOP_E_INVALID, "extent or its shape is NULL");
    if (call->dim >= extent->n_dims)
        return error_raise(HOOP_E_INVALID,
                           "dim %u is not below the number of dimensions, %u",
                           call->dim, extent->n_dims);
    call->n_rows = 1;
    call->n_inner = 1;
    call->length = extent->shape[call->dim];
    for (uint32_t i = 0; i < extent->n_dims; i++) {
        if (__builtin_mul_overflow(count, extent->shape[i], &count))
            return error_raise(HOOP_E_INVALID,
                               "the shape has more than 2^64 elements");
        if (i < call->dim)
            call->n_rows *= extent->shape[i];
        if (i > call->dim)
            call->n_inner *= extent->shape[i];
    }
    call->agreed[0] = call->n_rows;
    call->agreed[1] = call->length;
    call->agreed[2] = call->n_inner;
    return HOOP_OK;
}

/* Of a rank alone nothing interleaves, nor do rows of nothing, however many. */
static bool
needs_sorting(const struct extent_call *call, const hoop_comm_t *comm)
{
    return call->n_rows > 1 && call->length > 0 && call->n_inner > 0 &&
           channel_size(comm->channel) > 1;
}

/* The parts of the larger tensor, each n_elements of a row. */
static struct sorted *
sorted_of(const struct extent_call *call,
          size_t n_elements,
          const struct collective *collective,
          const hoop_comm_t *comm)
{
    const struct runs runs = {
        .n_rows = call->n_rows,
        .n_ranks = channel_size(comm->channel),
        .n_bytes = n_elements * dtype_size(collective->dtype),
    };

    return sorted_create(&runs);
}

static enum hoop_status
no_memory(const struct collective *collective)
{
    return error_raise(HOOP_E_EXHAUSTED,
                       "no memory to sort %zu elements of %s for each rank",
                       collective->count, dtype_name(collective->dtype));
}

/* Gathers into sorted memory, from where finish copies. */
static enum hoop_status
gather_sorted(struct collective *collective,
              const struct extent_call *call,
              const hoop_comm_t *comm)
{
    const struct buffers buffers = buffers_of(collective, comm);
    const uint32_t rank = channel_rank(comm->channel);
    struct sorted *sorted =
        sorted_of(call, call->length * call->n_inner, collective, comm);

    if (!sorted)
        return no_memory(collective);
    sorted->user = buffers.output;
    if (buffers.is_in_place) {
        sorted_fill(sorted, buffers.input, rank, rank + 1);
        collective->send = HOOP_IN_PLACE;
    }
    collective->recv = sorted->bytes;
    collective->stages = (struct stages){
        .finish = sorted_finish, .destroy = free, .owner = sorted};
    return HOOP_OK;
}

/* Reduces from sorted memory. */
static enum hoop_status
scatter_sorted(struct collective *collective,
               const struct extent_call *call,
               const hoop_comm_t *comm)
{
    const struct buffers buffers = buffers_of(collective, comm);
    const uint32_t size = channel_size(comm->channel);
    struct sorted *sorted =
        sorted_of(call, call->length / size * call->n_inner, collective, comm);

    if (!sorted)
        return no_memory(collective);
    sorted_fill(sorted, buffers.input, 0, size);
    collective->send = sorted->bytes;
    collective->recv = buffers.output;
    collective->stages = (struct stages){.destroy = free, .owner = sorted};
    return HOOP_OK;
}

/* count and agreed follow from the shape. */
static enum hoop_status
complete(struct collective *collective,
         struct extent_call *call,
         const hoop_comm_t *comm)
{
    const uint32_t size = channel_size(comm->channel);
    const enum hoop_status status = extent_measure(call);

    if (status != HOOP_OK)
        return error_pass(status);
    collective->count = call->n_rows * call->length * call->n_inner;
    collective->agreed = call->agreed;
    collective->n_agreed = 3;
    if (collective->name == CALL_ALLGATHER)
        return HOOP_OK;
    if (call->length % size != 0)
        return error_raise(HOOP_E_INVALID,
                           "%zu elements along dim %u cannot be cut into %u "
                           "equal parts",
                           call->length, call->dim, size);
    collective->count /= size;
    return HOOP_OK;
}

/* From the user's tensor to flat buffers; nothing where the process is no
 * member. */
static enum hoop_status
prepare(struct collective *collective,
        struct extent_call *call,
        const hoop_comm_t *comm)
{
    bool is_member;
    enum hoop_status status = presence_check(comm, &is_member);

    if (status != HOOP_OK || !is_member)
        return status;
    status = complete(collective, call, comm);
    if (status == HOOP_OK)
        status = collective_check(collective, comm);
    if (status == HOOP_OK && needs_sorting(call, comm))
        status = collective->name == CALL_ALLGATHER
                     ? gather_sorted(collective, call, comm)
                     : scatter_sorted(collective, call, comm);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
run(struct collective collective, struct extent_call call, hoop_comm_t *comm)
{
    const enum hoop_status status = prepare(&collective, &call, comm);

    if (status != HOOP_OK)
        return error_pass(status);
    return collective_run(&collective, comm);
}

static enum hoop_status
run_later(struct collective collective,
          struct extent_call call,
          hoop_comm_t *comm,
          hoop_op_t **out_op)
{
    if (!out_op)
        return error_raise(HOOP_E_INVALID, "out_op is NULL");
    const enum hoop_status status = prepare(&collective, &call, comm);
    if (status != HOOP_OK)
        return error_pass(status);
    return collective_start(&collective, comm, out_op);
}

/* All but the count. */
static struct collective
gathering(const void *send, void *recv, enum hoop_dtype dtype)
{
    return (struct collective){
        .name = CALL_ALLGATHER,
        .parts = COLL_RECV_ALL,
        .send = send,
        .recv = recv,
        .dtype = dtype,
    };
}

static struct collective
scattering(const void *send,
           void *recv,
           enum hoop_dtype dtype,
           enum hoop_reduce_op op)
{
    return (struct collective){
        .name = CALL_REDUCE_SCATTER,
        .parts = COLL_REDUCES | COLL_SEND_ALL,
        .send = send,
        .recv = recv,
        .dtype = dtype,
        .op = op,
    };
}

enum hoop_status
hoop_allgather_dim(const void *send,
                   void *recv,
                   const struct hoop_extent *extent,
                   uint32_t dim,
                   enum hoop_dtype dtype,
                   hoop_comm_t *comm)
{
    return run(gathering(send, recv, dtype),
               (struct extent_call){.extent = extent, .dim = dim}, comm);
}

enum hoop_status
hoop_allgather_dim_start(const void *send,
                         void *recv,
                         const struct hoop_extent *extent,
                         uint32_t dim,
                         enum hoop_dtype dtype,
                         hoop_comm_t *comm,
                         hoop_op_t **out_op)
{
    return run_later(gathering(send, recv, dtype),
                     (struct extent_call){.extent = extent, .dim = dim}, comm,
                     out_op);
}

enum hoop_status
hoop_reduce_scatter_dim(const void *send,
                        void *recv,
                        const struct hoop_extent *extent,
                        uint32_t dim,
                        enum hoop_dtype dtype,
                        enum hoop_reduce_op op,
                        hoop_comm_t *comm)
{
    return run(scattering(send, recv, dtype, op),
               (struct extent_call){.extent = extent, .dim = dim}, comm);
}

enum hoop_status
hoop_reduce_scatter_dim_start(const void *send,
                              void *recv,
                              const struct hoop_extent *extent,
                              uint32_t dim,
                              enum hoop_dtype dtype,
                              enum hoop_reduce_op op,
                              hoop_comm_t *comm,
                              hoop_op_t **out_op)
{
    return run_later(scattering(send, recv, dtype, op),
                     (struct extent_call){.extent = extent, .dim = dim}, comm,
                     out_op);
}
