/*
 * data_parallel/sharded.c - each rank keeps the optimizer state of its own
 * shard
 *
 * One flat array is used twice. Gradients are packed into it and reduced out of
 * it. Then each rank updates its shard of the parameters in it, the shards are
 * gathered there, and the array is copied back to the parameters.
 */

#include "hoop/sharded.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/collective.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "data_parallel/flat.h"
#include "dtype/dtype.h"
#include "tensor/operand.h"

struct hoop_sharded {
    hoop_comm_t *comm;
    uint32_t rank;
    uint32_t size; /* 0: not a member */
    struct flat *parameters;
    size_t *counts;    /* [size] */
    uint8_t *all;      /* the flat array */
    uint8_t *gradient; /* this rank's shard of the reduced gradients */
    bool is_gradient_reduced;
};

DEFINE_CLEANUP(struct hoop_sharded *, hoop_sharded_free)

struct hoop_shard
hoop_sharded_part(const hoop_sharded_t *sharded, uint32_t rank)
{
    if (!sharded || rank >= sharded->size)
        return (struct hoop_shard){0, 0};
    const size_t total = sharded->parameters->count;
    const size_t equal =
        total / sharded->size + (total % sharded->size > 0 ? 1 : 0);
    /* equal is 0 only if there is nothing to divide. */
    const size_t n_full = equal > 0 ? total / equal : 0;
    if (rank < n_full)
        return (struct hoop_shard){.offset = rank * equal, .count = equal};
    if (rank > n_full)
        return (struct hoop_shard){.offset = total, .count = 0};
    return (struct hoop_shard){.offset = rank * equal,
                               .count = total - rank * equal};
}

static enum hoop_status
sharded_allocate(struct hoop_sharded *sharded)
{
    const struct flat *parameters = sharded->parameters;
    const size_t element_size = parameters->element_size;

    sharded->counts = calloc(sharded->size + 1, sizeof(*sharded->counts));
    sharded->all = malloc(parameters->count * element_size + 1);
    sharded->gradient = malloc(
        hoop_sharded_part(sharded, sharded->rank).count * element_size + 1);
    if (!sharded->counts || !sharded->all || !sharded->gradient)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for %zu elements of %s and a shard",
                           parameters->count, dtype_name(parameters->dtype));
    for (uint32_t rank = 0; rank < sharded->size; rank++)
        sharded->counts[rank] = hoop_sharded_part(sharded, rank).count;
    return HOOP_OK;
}

enum hoop_status
hoop_sharded_create(const struct hoop_tensor *parameters,
                    size_t n_parameters,
                    hoop_comm_t *comm,
                    hoop_sharded_t **out_sharded)
{
    CLEANUP(hoop_sharded_free) struct hoop_sharded *sharded = NULL;
    bool is_member;
    enum hoop_status status = comm_call_begin(comm, &is_member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!out_sharded)
        return error_raise(HOOP_E_INVALID, "out_sharded is NULL");
    sharded = calloc(1, sizeof(*sharded));
    if (!sharded)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for shards");
    sharded->comm = comm;
    sharded->rank = hoop_comm_rank(comm);
    sharded->size = hoop_comm_size(comm);
    status = flat_tensors_create(parameters, n_parameters, "parameter",
                                 &sharded->parameters);
    if (status == HOOP_OK)
        status = sharded_allocate(sharded);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_sharded = STEAL(sharded);
    return HOOP_OK;
}

void
hoop_sharded_free(hoop_sharded_t *sharded)
{
    if (!sharded)
        return;
    flat_tensors_destroy(sharded->parameters);
    free(sharded->counts);
    free(sharded->all);
    free(sharded->gradient);
    free(sharded);
}

static enum hoop_status
sharded_check_reduce(const struct hoop_sharded *sharded,
                     const struct hoop_tensor *gradients,
                     enum hoop_reduce_op op)
{
    if (!sharded)
        return error_raise(HOOP_E_INVALID, "sharded is NULL");
    if (op != HOOP_SUM && op != HOOP_AVG)
        return error_raise(HOOP_E_INVALID,
                           "gradients are reduced with HOOP_SUM or HOOP_AVG, "
                           "not with %s",
                           reduce_op_name(op));
    const enum hoop_status status =
        flat_tensors_check_match(sharded->parameters, gradients, "gradient");
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static void
gradients_pack(struct hoop_sharded *sharded,
               const struct hoop_tensor *gradients)
{
    uint8_t *to = sharded->all;

    for (size_t i = 0; i < sharded->parameters->n_pieces; i++) {
        const size_t n_bytes = operand_bytes(&gradients[i]);

        if (n_bytes > 0)
            memcpy(to, gradients[i].data, n_bytes);
        to += n_bytes;
    }
}

/* Returns what both collectives of a step share. The shapes imply the counts,
 * so only they are compared between ranks. */
static struct collective
sharded_make_collective(const struct hoop_sharded *sharded, enum call_name name)
{
    return (struct collective){
        .name = name,
        .parts = collective_parts[name],
        .counts = sharded->counts,
        .agreed = sharded->parameters->shapes,
        .n_agreed = sharded->parameters->n_shape_entries,
        .dtype = sharded->parameters->dtype,
    };
}

static uint8_t *
own_shard_data(const struct hoop_sharded *sharded)
{
    return sharded->all + hoop_sharded_part(sharded, sharded->rank).offset *
                              sharded->parameters->element_size;
}

static struct hoop_tensor
own_shard_tensor(const struct hoop_sharded *sharded, uint8_t *bytes)
{
    const size_t count = hoop_sharded_part(sharded, sharded->rank).count;

    return (struct hoop_tensor){
        .data = count > 0 ? bytes : NULL,
        .dtype = sharded->parameters->dtype,
        .shape = {.n_dims = 1, .dims = {count}},
    };
}

enum hoop_status
hoop_sharded_reduce(hoop_sharded_t *sharded,
                    const struct hoop_tensor *gradients,
                    enum hoop_reduce_op op,
                    struct hoop_tensor *out_gradient,
                    struct hoop_tensor *out_parameter)
{
    enum hoop_status status;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_gradient || !out_parameter)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           out_gradient ? "out_parameter" : "out_gradient");
    status = sharded_check_reduce(sharded, gradients, op);
    if (status != HOOP_OK)
        return error_pass(status);
    sharded->is_gradient_reduced = false;
    gradients_pack(sharded, gradients);
    struct collective reduce =
        sharded_make_collective(sharded, CALL_REDUCE_SCATTERV);
    reduce.send = sharded->all;
    reduce.recv = sharded->gradient;
    reduce.op = op;
    status = collective_run(&reduce, sharded->comm);
    if (status != HOOP_OK)
        return error_pass(status);
    const struct hoop_shard shard = hoop_sharded_part(sharded, sharded->rank);
    flat_tensors_pack_range(sharded->parameters, shard.offset, shard.count,
                            own_shard_data(sharded));
    sharded->is_gradient_reduced = true;
    *out_gradient = own_shard_tensor(sharded, sharded->gradient);
    *out_parameter = own_shard_tensor(sharded, own_shard_data(sharded));
    return HOOP_OK;
}

enum hoop_status
hoop_sharded_gather(hoop_sharded_t *sharded)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!sharded)
        return error_raise(HOOP_E_INVALID, "sharded is NULL");
    if (!sharded->is_gradient_reduced)
        return error_raise(HOOP_E_PRECONDITION,
                           "there are no changed shards: call "
                           "hoop_sharded_reduce() first");
    struct collective gather =
        sharded_make_collective(sharded, CALL_ALLGATHERV);
    gather.send = HOOP_IN_PLACE;
    gather.recv = sharded->all;
    const enum hoop_status status = collective_run(&gather, sharded->comm);
    if (status != HOOP_OK)
        return error_pass(status);
    sharded->is_gradient_reduced = false;
    if (sharded->size > 0)
        flat_tensors_unpack(sharded->parameters, sharded->all);
    return HOOP_OK;
}
