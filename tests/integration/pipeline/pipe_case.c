/* tests/integration/pipeline/pipe_case.c - makes tensors for tests of
 * pipelines */

#include "integration/pipeline/pipe_case.h"

#include <string.h>

#include "engine/engine.h"

struct hoop_tensor
tensor_like(enum hoop_dtype dtype, uint32_t n_dims, const size_t *dims)
{
    struct hoop_tensor tensor = {.dtype = dtype, .shape = {.n_dims = n_dims}};

    for (uint32_t i = 0; i < n_dims; i++)
        tensor.shape.dims[i] = dims[i];
    return tensor;
}

static void
pair_begin(struct pair *pair)
{
    pair->tensor = tensor_like(HOOP_INT64, 1, (size_t[]){2});
    pair->list = (struct hoop_tensors){1, &pair->tensor, &pair->tensor, 0};
}

const struct hoop_tensors *
pair_fill(struct pair *pair, int64_t a, int64_t b)
{
    pair_begin(pair);
    pair->at[0] = a;
    pair->at[1] = b;
    pair->tensor.data = pair->at;
    return &pair->list;
}

struct hoop_tensors *
pair_want(struct pair *pair)
{
    pair_begin(pair);
    return &pair->list;
}

struct hoop_tensors *
pair_want_any(struct pair *pair)
{
    pair_begin(pair);
    pair->tensor.dtype = HOOP_BOOL;
    pair->tensor.shape.n_dims = HOOP_ANY_SHAPE;
    return &pair->list;
}

bool
pair_came(struct pair *pair, int64_t a, int64_t b)
{
    const int64_t expected[2] = {a, b};
    const struct hoop_tensor *tensor = &pair->tensor;
    const bool is_right = tensor->dtype == HOOP_INT64 &&
                          tensor->shape.n_dims == 1 &&
                          tensor->shape.dims[0] == 2 && tensor->data &&
                          memcmp(tensor->data, expected, sizeof(expected)) == 0;

    if (tensor->data != pair->at)
        hoop_tensor_free(&pair->tensor);
    return is_right;
}

bool
pair_is_none(const struct pair *pair)
{
    return pair->list.n_received == 0 && !pair->tensor.data;
}

enum hoop_status
comm_begin(const struct rank *rank,
           uint64_t id,
           const uint32_t *ranks,
           uint32_t n_ranks,
           hoop_comm_t *out_comm)
{
    struct context_options options = {
        .id = id,
        .size = n_ranks,
        .ranks = ranks,
        .timeout_ms = context_timeout(rank->comm->context),
    };

    *out_comm = (hoop_comm_t){0};
    while (options.rank < n_ranks && ranks[options.rank] != rank->rank)
        options.rank++;
    /* This keeps what a faster rank already sends on the new communicator. */
    if (options.rank < n_ranks)
        engine_expect_context(rank->engine);
    const enum hoop_status status = hoop_barrier(rank->comm);
    if (status != HOOP_OK || options.rank == n_ranks)
        return status;
    return context_open(rank->engine, &options, &out_comm->context);
}

void
comm_end(hoop_comm_t *comm)
{
    if (comm->context)
        context_close(comm->context);
}

uint64_t
bytes_sent(const struct rank *rank)
{
    struct engine_stats stats;

    engine_stats(rank->engine, &stats);
    return stats.transport.bytes_sent;
}
