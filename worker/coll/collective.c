/* coll/collective.c - the part of every collective that is the same */

#include "coll/collective.h"

#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "coll/select.h"
#include "dtype/dtype.h"
#include "dtype/reduction.h"
#include "tune/tuning.h"

enum {
    /* Blocks that the library cuts begin on cache lines. */
    GRANULE_BYTES = 64,
};

static enum hoop_status
check_dtype(const struct collective *collective)
{
    if (dtype_size(collective->dtype) == 0)
        return error_raise(HOOP_E_INVALID, "dtype %d is not known to hoop",
                           (int)collective->dtype);
    if (!(collective->parts & COLL_REDUCES))
        return HOOP_OK;
    /* Integers take every operator there is. */
    if (!reduction_find(HOOP_INT32, collective->op))
        return error_raise(HOOP_E_INVALID,
                           "reduce operator %d is not known to hoop",
                           (int)collective->op);
    if (!reduction_find(collective->dtype, collective->op))
        return error_raise(HOOP_E_INVALID, "%s of %s has no meaning",
                           reduce_op_name(collective->op),
                           dtype_name(collective->dtype));
    return HOOP_OK;
}

/* The sum of all counts, in bytes, must fit a size_t. */
static enum hoop_status
check_counts(const struct collective *collective, size_t *out_total)
{
    const uint32_t size = channel_size(collective->comm->channel);
    const unsigned all = COLL_SEND_ALL | COLL_RECV_ALL;
    size_t total = 0;
    size_t n_bytes;

    if ((collective->parts & COLL_HAS_COUNTS) && !collective->counts)
        return error_raise(HOOP_E_INVALID, "counts is NULL");
    if (collective->counts) {
        for (uint32_t rank = 0; rank < size; rank++) {
            if (__builtin_add_overflow(total, collective->counts[rank], &total))
                return error_raise(HOOP_E_INVALID,
                                   "the counts add up to more than 2^64");
        }
    } else if (__builtin_mul_overflow(collective->count,
                                      collective->parts & all ? size : 1,
                                      &total)) {
        return error_raise(HOOP_E_INVALID, "%zu elements of %u ranks overflow",
                           collective->count, size);
    }
    if (__builtin_mul_overflow(total, dtype_size(collective->dtype),
                               &n_bytes) ||
        n_bytes > INT64_MAX)
        return error_raise(HOOP_E_INVALID, "%zu elements of %s are too many",
                           total, dtype_name(collective->dtype));
    *out_total = total;
    return HOOP_OK;
}

struct buffers {
    const void *input;
    void *output;
    bool is_in_place;
};

/* What the plan reads and writes on this rank. */
static struct buffers
buffers_of(const struct collective *collective)
{
    const uint32_t rank = channel_rank(collective->comm->channel);
    const bool is_root = rank == collective->root;
    struct buffers buffers = {collective->send, collective->recv, false};

    if (collective->send == HOOP_IN_PLACE)
        buffers.input = collective->recv;
    if (collective->recv == HOOP_IN_PLACE)
        buffers.output = (void *)(uintptr_t)collective->send;
    buffers.is_in_place = buffers.input == buffers.output;
    /* Only one of them exists here: the plan must not look at the other. */
    if ((collective->parts & COLL_SEND_AT_ROOT) && !is_root)
        buffers.input = buffers.output;
    if ((collective->parts & COLL_RECV_AT_ROOT) && !is_root)
        buffers.output = (void *)(uintptr_t)buffers.input;
    return buffers;
}

static enum hoop_status
check_buffers(const struct collective *collective,
              const struct buffers *buffers,
              size_t total)
{
    if (collective->parts & COLL_NO_BUFFERS)
        return HOOP_OK;
    if (collective->send == HOOP_IN_PLACE && collective->recv == HOOP_IN_PLACE)
        return error_raise(HOOP_E_INVALID,
                           "send and recv cannot both be HOOP_IN_PLACE");
    if (total == 0)
        return HOOP_OK;
    if (!buffers->input)
        return error_raise(HOOP_E_INVALID, "send is NULL on rank %u",
                           channel_rank(collective->comm->channel));
    if (!buffers->output)
        return error_raise(HOOP_E_INVALID, "recv is NULL on rank %u",
                           channel_rank(collective->comm->channel));
    return HOOP_OK;
}

static enum hoop_status
check_root(const struct collective *collective)
{
    const uint32_t size = channel_size(collective->comm->channel);

    if ((collective->parts & COLL_HAS_ROOT) && collective->root >= size)
        return error_raise(HOOP_E_INVALID,
                           "root %u is not below the communicator's size, %u",
                           collective->root, size);
    return HOOP_OK;
}

static struct plan_shape
shape_of(const struct collective *collective, bool is_in_place)
{
    const struct channel *channel = collective->comm->channel;
    const bool is_barrier = collective->parts & COLL_NO_BUFFERS;
    const size_t element_size = is_barrier ? 1 : dtype_size(collective->dtype);
    const size_t granule = GRANULE_BYTES / element_size;

    return (struct plan_shape){
        .rank = channel_rank(channel),
        .size = channel_size(channel),
        .root = collective->root,
        .is_in_place = is_in_place,
        .count = collective->count,
        .counts = collective->counts,
        .granule = granule > 0 ? granule : 1,
        .nodes = tuning_nodes(collective->comm->tuning),
    };
}

static enum hoop_status
start(const struct collective *collective,
      enum engine_mode mode,
      struct op **out_op)
{
    size_t total = 0;

    error_clear();
    if (!collective->comm)
        return error_raise(HOOP_E_INVALID, "comm is NULL");
    enum hoop_status status = check_root(collective);
    if (status == HOOP_OK && !(collective->parts & COLL_NO_BUFFERS)) {
        status = check_dtype(collective);
        if (status == HOOP_OK)
            status = check_counts(collective, &total);
    }
    if (status != HOOP_OK)
        return error_pass(status);
    const struct buffers buffers = buffers_of(collective);
    status = check_buffers(collective, &buffers, total);
    if (status != HOOP_OK)
        return error_pass(status);

    struct channel *channel = collective->comm->channel;
    const struct engine_collective request = {
        .call =
            {
                .name = collective->name,
                .dtype = collective->dtype,
                .reduce_op = collective->op,
                .root = collective->root,
                .count = collective->counts ? total : collective->count,
                .counts = collective->counts,
                .n_counts = collective->counts ? channel_size(channel) : 0,
            },
        .algorithm = select_algorithm(collective->comm, collective->name,
                                      total * dtype_size(collective->dtype)),
        .shape = shape_of(collective, buffers.is_in_place),
        .input = buffers.input,
        .output = buffers.output,
        .mode = mode,
    };
    return engine_start(channel, &request, out_op);
}

enum hoop_status
collective_start(const struct collective *collective, hoop_op_t **out_op)
{
    struct op *op = NULL;

    if (!out_op)
        return error_raise(HOOP_E_INVALID, "out_op is NULL");
    const enum hoop_status status = start(collective, ENGINE_START, &op);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_op = (hoop_op_t *)op;
    return HOOP_OK;
}

enum hoop_status
collective_run(const struct collective *collective)
{
    struct op *op = NULL;

    const enum hoop_status status =
        start(collective, ENGINE_START_AND_WAIT, &op);
    if (status != HOOP_OK)
        return error_pass(status);
    return engine_wait(op, CLOCK_NEVER);
}
