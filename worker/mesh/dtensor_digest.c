/*
 * mesh/dtensor_digest.c - a hash of a tensor's content in any layout
 *
 * Each element is hashed together with its index in the whole tensor, and the
 * hashes are added, so their order does not matter. Along axes that cut nothing
 * only the first rank contributes.
 */

#include <string.h>

#include "api/collective.h"
#include "base/digest.h"
#include "base/error.h"
#include "dtype/dtype.h"
#include "mesh/dtensor.h"
#include "tensor/operand.h"

enum {
    /* The dtype, the number of dimensions, and each dimension. */
    AGREED_MAX = 2 + HOOP_MAX_DIMS,
};

static bool
is_first_replica(const struct hoop_dtensor *dtensor)
{
    const struct hoop_sharding *sharding = &dtensor->spec.sharding;
    bool cuts[HOOP_MAX_AXES] = {false};

    for (uint32_t dim = 0; dim < dtensor->shape.n_dims; dim++) {
        for (uint32_t i = 0; i < sharding->dims[dim].n_axes; i++)
            cuts[sharding->dims[dim].axes[i]] = true;
    }
    for (uint32_t axis = 0; axis < hoop_mesh_n_axes(dtensor->spec.mesh);
         axis++) {
        if (!cuts[axis] && hoop_mesh_coordinate(dtensor->spec.mesh, axis) > 0)
            return false;
    }
    return true;
}

/* Returns the index in the whole tensor of the first element of the part's
 * row. */
static uint64_t
part_row_global_index(const struct hoop_shape *whole,
                      const struct hoop_part *part,
                      size_t row)
{
    uint64_t begin = 0;
    uint64_t stride = 1;

    for (uint32_t dim = whole->n_dims; dim-- > 0;) {
        size_t at = part->offset[dim];

        if (dim + 1 < whole->n_dims) {
            at += row % part->shape.dims[dim];
            row /= part->shape.dims[dim];
        }
        begin += at * stride;
        stride *= whole->dims[dim];
    }
    return begin;
}

static uint64_t
part_digest(const struct hoop_dtensor *dtensor, const struct hoop_part *part)
{
    const uint32_t n_dims = part->shape.n_dims;
    const size_t n_bytes = dtype_size(dtensor->local.dtype);
    const size_t n_row = n_dims > 0 ? part->shape.dims[n_dims - 1] : 1;
    const uint8_t *at = dtensor->local.data;
    size_t n_rows = 1;
    uint64_t sum = 0;

    /* The part may have many rows without elements. */
    if (operand_count(&dtensor->local) == 0)
        return 0;
    for (uint32_t dim = 0; dim + 1 < n_dims; dim++)
        n_rows *= part->shape.dims[dim];
    for (size_t row = 0; row < n_rows; row++)
        sum += digest_elements(&(struct digest_run){
            .elements = at + row * n_row * n_bytes,
            .n_bytes = n_bytes,
            .count = n_row,
            .first = part_row_global_index(&dtensor->shape, part, row),
        });
    return sum;
}

/* Adds the sums of all ranks of the mesh. */
static enum hoop_status
digest_sum_over_mesh(const struct hoop_dtensor *dtensor,
                     uint64_t mine,
                     uint64_t *out_sum)
{
    const uint32_t n_axes = hoop_mesh_n_axes(dtensor->spec.mesh);
    const struct hoop_shape *shape = &dtensor->shape;
    uint32_t axes[HOOP_MAX_AXES];
    size_t agreed[AGREED_MAX] = {(size_t)dtensor->local.dtype, shape->n_dims};
    const struct collective sum = {
        .name = CALL_ALLREDUCE,
        .parts = COLL_REDUCES,
        .send = &mine,
        .recv = out_sum,
        .count = 1,
        .dtype = HOOP_UINT64,
        .op = HOOP_SUM,
        .agreed = agreed,
        .n_agreed = 2 + shape->n_dims,
    };
    hoop_comm_t *comm = NULL;

    memcpy(&agreed[2], shape->dims, shape->n_dims * sizeof(*agreed));
    for (uint32_t axis = 0; axis < n_axes; axis++)
        axes[axis] = axis;
    enum hoop_status status =
        hoop_mesh_comm(dtensor->spec.mesh, axes, n_axes, &comm);
    if (status == HOOP_OK)
        status = collective_run(&sum, comm);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_dtensor_digest(const hoop_dtensor_t *dtensor, uint64_t *out_digest)
{
    struct hoop_part part;
    uint64_t sum = 0;
    uint64_t mine = 0;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!dtensor || !out_digest)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           dtensor ? "out_digest" : "dtensor");
    if (dtensor->spec.sharding.partial.n_axes > 0)
        return error_raise(HOOP_E_INVALID,
                           "the tensor is partial: redistribute it first, "
                           "addends have no digest");
    if (!dtensor_is_here(dtensor)) {
        *out_digest = 0;
        return HOOP_OK;
    }
    enum hoop_status status = hoop_dtensor_part(dtensor, &part);
    if (status == HOOP_OK && is_first_replica(dtensor))
        mine = part_digest(dtensor, &part);
    if (status == HOOP_OK)
        status = digest_sum_over_mesh(dtensor, mine, &sum);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_digest = sum;
    return HOOP_OK;
}
