/*
 * pipeline/shard.c - equal shares of a tensor that several ranks hold
 *
 * The shape of a share: from the first dimension to the last, each is divided
 * by its common divisor with the remaining number of ranks, until that is 1.
 */

#include "pipeline/shard.h"

#include "dtype/dtype.h"

static size_t
greatest_common_divisor(size_t a, size_t b)
{
    while (b > 0) {
        const size_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

bool
shard_can_split(size_t count, uint32_t n_ranks)
{
    return n_ranks > 1 && count > 0 && count % n_ranks == 0;
}

struct hoop_tensor
shard_of_rank(const struct hoop_tensor *tensor, uint32_t rank, uint32_t n_ranks)
{
    struct hoop_tensor shard = *tensor;
    size_t n_bytes = dtype_size(tensor->dtype);
    size_t n_left = n_ranks;

    shard.strides = NULL;
    for (uint32_t i = 0; i < shard.shape.n_dims; i++) {
        const size_t divisor =
            greatest_common_divisor(shard.shape.dims[i], n_left);

        shard.shape.dims[i] /= divisor;
        n_left /= divisor;
        n_bytes *= shard.shape.dims[i];
    }
    if (tensor->data)
        shard.data = (uint8_t *)tensor->data + rank * n_bytes;
    return shard;
}

struct hoop_tensor
shard_placeholder(const struct hoop_tensor *tensor)
{
    struct hoop_tensor shard = {
        .dtype = tensor->dtype,
        .shape = {.n_dims = 1, .dims = {0}},
    };
    uint32_t *n_dims = &shard.shape.n_dims;

    for (uint32_t i = 0; i < tensor->shape.n_dims && *n_dims < HOOP_MAX_DIMS;
         i++)
        shard.shape.dims[(*n_dims)++] = tensor->shape.dims[i];
    return shard;
}

struct hoop_tensor
shard_empty(enum hoop_dtype dtype)
{
    return (struct hoop_tensor){
        .dtype = dtype,
        .shape = {.n_dims = 1, .dims = {0}},
    };
}
