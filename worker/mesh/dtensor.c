/*
 * mesh/dtensor.c - a tensor that is distributed over the ranks of a mesh
 *
 * This file creates one from a part or from the whole and hashes its content;
 * mesh/redistribute/redistribute_call.c redistributes it.
 */

#include "mesh/dtensor.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "hoop/session.h"

#include "api/collective.h"
#include "base/digest.h"
#include "base/error.h"
#include "dtype/dtype.h"
#include "dtype/neutral.h"
#include "dtype/reduction.h"
#include "mesh/mesh.h"
#include "mesh/process_group.h"
#include "mesh/redistribute/transfer_plan.h"
#include "mesh/sharding.h"
#include "tensor/layout.h"
#include "tensor/operand.h"
#include "tensor/result.h"

static enum hoop_status
dtensor_check_dtype(enum hoop_dtype dtype, const struct hoop_sharding *sharding)
{
    if (dtype_size(dtype) == 0)
        return error_raise(HOOP_E_INVALID, "dtype %d is not known to hoop",
                           (int)dtype);
    if (sharding->partial.n_axes > 0 &&
        !reduction_find(dtype, sharding->partial_op))
        return error_raise(HOOP_E_INVALID, "partial: %s of %s has no meaning",
                           reduce_op_name(sharding->partial_op),
                           dtype_name(dtype));
    return HOOP_OK;
}

enum hoop_status
dtensor_spec_check(enum hoop_dtype dtype,
                   const struct hoop_shape *shape,
                   const struct hoop_tensor_spec *spec)
{
    if (!spec || !spec->mesh)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           spec ? "spec->mesh" : "spec");
    const struct hoop_mesh_shape mesh = hoop_mesh_shape_of(spec->mesh);
    enum hoop_status status =
        hoop_sharding_check(&spec->sharding, &mesh, shape);
    if (status == HOOP_OK)
        status = dtensor_check_dtype(dtype, &spec->sharding);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
dtensor_create_without_data(enum hoop_dtype dtype,
                            const struct hoop_shape *shape,
                            const struct hoop_tensor_spec *spec,
                            hoop_dtensor_t **out_dtensor)
{
    CLEANUP(hoop_dtensor_free)
    hoop_dtensor_t *dtensor = calloc(1, sizeof(*dtensor));
    struct hoop_part part;

    if (!dtensor)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a tensor");
    dtensor->shape = *shape;
    dtensor->spec = *spec;
    dtensor->local.dtype = dtype;
    if (dtensor_is_rank_in_mesh(dtensor)) {
        const enum hoop_status status =
            hoop_sharding_part_here(&spec->sharding, spec->mesh, shape, &part);

        if (status != HOOP_OK)
            return error_pass(status);
        dtensor->local.shape = part.shape;
    }
    *out_dtensor = STEAL(dtensor);
    return HOOP_OK;
}

enum hoop_status
dtensor_create_allocated(enum hoop_dtype dtype,
                         const struct hoop_shape *shape,
                         const struct hoop_tensor_spec *spec,
                         hoop_dtensor_t **out_dtensor)
{
    CLEANUP(hoop_dtensor_free) hoop_dtensor_t *dtensor = NULL;
    enum hoop_status status =
        dtensor_create_without_data(dtype, shape, spec, &dtensor);

    if (status == HOOP_OK && dtensor_is_rank_in_mesh(dtensor)) {
        status = result_allocate(dtype, &dtensor->local.shape, &dtensor->own);
        dtensor->local.data = dtensor->own.data;
    }
    if (status != HOOP_OK)
        return error_pass(status);
    *out_dtensor = STEAL(dtensor);
    return HOOP_OK;
}

bool
dtensor_is_rank_in_mesh(const struct hoop_dtensor *dtensor)
{
    return mesh_own_place(dtensor->spec.mesh) != HOOP_NO_RANK;
}

void
dtensor_set_layout(struct hoop_dtensor *dtensor,
                   const struct hoop_tensor_spec *spec)
{
    struct hoop_part part;

    dtensor->spec = *spec;
    if (dtensor_is_rank_in_mesh(dtensor)) {
        const enum hoop_status status = hoop_sharding_part_here(
            &spec->sharding, spec->mesh, &dtensor->shape, &part);

        assert(status == HOOP_OK);
        dtensor->local.shape = part.shape;
        return;
    }
    hoop_tensor_free(&dtensor->own);
    dtensor->local = (struct hoop_tensor){.dtype = dtensor->local.dtype};
}

enum hoop_status
hoop_dtensor_create(enum hoop_dtype dtype,
                    const struct hoop_shape *shape,
                    const struct hoop_tensor_spec *spec,
                    hoop_dtensor_t **out_dtensor)
{
    CLEANUP(hoop_dtensor_free) hoop_dtensor_t *dtensor = NULL;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_dtensor)
        return error_raise(HOOP_E_INVALID, "out_dtensor is NULL");
    enum hoop_status status = dtensor_spec_check(dtype, shape, spec);
    if (status == HOOP_OK)
        status = dtensor_create_allocated(dtype, shape, spec, &dtensor);
    if (status != HOOP_OK)
        return error_pass(status);
    if (dtensor->local.data)
        memset(dtensor->local.data, 0, operand_bytes(&dtensor->local));
    *out_dtensor = STEAL(dtensor);
    return HOOP_OK;
}

void
hoop_dtensor_free(hoop_dtensor_t *dtensor)
{
    if (!dtensor)
        return;
    hoop_tensor_free(&dtensor->own);
    free(dtensor);
}

const struct hoop_tensor *
hoop_dtensor_local(const hoop_dtensor_t *dtensor)
{
    return dtensor && dtensor_is_rank_in_mesh(dtensor) ? &dtensor->local : NULL;
}

const struct hoop_shape *
hoop_dtensor_shape(const hoop_dtensor_t *dtensor)
{
    return dtensor ? &dtensor->shape : NULL;
}

const struct hoop_tensor_spec *
hoop_dtensor_spec(const hoop_dtensor_t *dtensor)
{
    return dtensor ? &dtensor->spec : NULL;
}

enum hoop_dtype
hoop_dtensor_dtype(const hoop_dtensor_t *dtensor)
{
    return dtensor ? dtensor->local.dtype : (enum hoop_dtype)DTYPE_COUNT;
}

enum hoop_status
hoop_dtensor_part(const hoop_dtensor_t *dtensor, struct hoop_part *out_part)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!dtensor)
        return error_raise(HOOP_E_INVALID, "dtensor is NULL");
    const enum hoop_status status = hoop_sharding_part_here(
        &dtensor->spec.sharding, dtensor->spec.mesh, &dtensor->shape, out_part);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* A tensor may change its group only if all ranks of its mesh have it whole,
 * and the group's ranks are among them. */
static enum hoop_status
dtensor_check_group_change(const struct hoop_dtensor *dtensor,
                           const struct group_meshes *meshes)
{
    const struct hoop_sharding *sharding = &dtensor->spec.sharding;
    const hoop_mesh_t *mesh = dtensor->spec.mesh;
    uint32_t n_long = 0;
    uint32_t n_named = sharding->partial.n_axes;

    for (uint32_t dim = 0; dim < HOOP_MAX_DIMS; dim++)
        n_named += sharding->dims[dim].n_axes;
    if (n_named > 0)
        return error_raise(
            HOOP_E_PRECONDITION,
            "the tensor is %s: only one that all ranks have whole changes its "
            "group, redistribute it first",
            hoop_sharding_describe(sharding, dtensor->shape.n_dims).text);
    for (uint32_t axis = 0; axis < hoop_mesh_n_axes(mesh); axis++)
        n_long += hoop_mesh_axis_size(mesh, axis) > 1 ? 1 : 0;
    if (n_long > 1)
        return error_raise(HOOP_E_PRECONDITION,
                           "the tensor's mesh has %u axes longer than 1: only "
                           "one with T = 1 or D = 1 changes its group",
                           n_long);
    for (uint32_t i = 0; i < meshes->n_rows * meshes->n_columns; i++) {
        if (mesh_place_of_rank(mesh, meshes->ranks[i]) == HOOP_NO_RANK)
            return error_raise(HOOP_E_PRECONDITION,
                               "rank %u is in the group, but has no part of "
                               "the tensor: redistribute it instead",
                               meshes->ranks[i]);
    }
    return HOOP_OK;
}

enum hoop_status
hoop_dtensor_set_process_group(hoop_dtensor_t *dtensor, hoop_pg_t *group)
{
    hoop_mesh_t *mesh = NULL;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!dtensor || !group)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           dtensor ? "group" : "dtensor");
    struct group_meshes *meshes = process_group_meshes(group);
    if (mesh_world_comm(dtensor->spec.mesh) != hoop_world(meshes->session))
        return error_raise(HOOP_E_INVALID,
                           "the group is of another session than the tensor");
    if (group_mesh_has_same_ranks(meshes, dtensor->spec.mesh))
        return HOOP_OK;
    enum hoop_status status = dtensor_check_group_change(dtensor, meshes);
    if (status == HOOP_OK)
        status = group_mesh_get_or_create(
            meshes,
            &(struct hoop_mesh_shape){.n_axes = 1,
                                      .sizes = {meshes->n_columns}},
            &mesh);
    if (status != HOOP_OK)
        return error_pass(status);
    dtensor_set_layout(
        dtensor, &(struct hoop_tensor_spec){.mesh = mesh,
                                            .compute = dtensor->spec.compute});
    return HOOP_OK;
}

/*
 * Creates a distributed tensor from local data.
 *
 * The data are used as the part, or a part is copied out of the whole.
 * Neither needs another rank.
 */

static enum hoop_status
global_dim_from_local(const struct hoop_sharding *sharding,
                      const hoop_mesh_t *mesh,
                      uint32_t dim,
                      size_t *size)
{
    const struct hoop_axes *axes = &sharding->dims[dim];

    for (uint32_t i = 0; i < axes->n_axes && i < HOOP_MAX_AXES; i++) {
        const uint32_t n_parts = hoop_mesh_axis_size(mesh, axes->axes[i]);

        if (sharding->is_uneven && n_parts > 1)
            return error_raise(HOOP_E_INVALID,
                               "how long dim %u of an uneven tensor is cannot "
                               "be told from a part: give its shape",
                               dim);
        /* An axis that the mesh lacks has size 0;
         * dtensor_spec_check() rejects it later. */
        if (__builtin_mul_overflow(*size, n_parts, size))
            return error_raise(HOOP_E_INVALID,
                               "%u parts like this one along dim %u are more "
                               "than 2^64 elements",
                               n_parts, dim);
    }
    return HOOP_OK;
}

/* Returns the shape of the tensor that equal parts like local make up. */
static enum hoop_status
global_shape_from_local(const struct hoop_tensor *local,
                        const struct hoop_tensor_spec *spec,
                        struct hoop_shape *out_shape)
{
    struct hoop_shape shape = local->shape;
    size_t count;
    enum hoop_status status = shape_count(&shape, &count);

    if (status == HOOP_OK && (!spec || !spec->mesh))
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           spec ? "spec->mesh" : "spec");
    for (uint32_t dim = 0; status == HOOP_OK && dim < shape.n_dims; dim++)
        status = global_dim_from_local(&spec->sharding, spec->mesh, dim,
                                       &shape.dims[dim]);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_shape = shape;
    return HOOP_OK;
}

/* Called only on ranks in the mesh. */
static enum hoop_status
local_part_check(const struct hoop_tensor *local,
                 const struct hoop_dtensor *dtensor)
{
    const struct hoop_shape *part = &dtensor->local.shape;
    const enum hoop_status status = operand_check(local, "the part");

    if (status != HOOP_OK)
        return error_pass(status);
    if (!shape_equal(&local->shape, part))
        return error_raise(
            HOOP_E_INVALID,
            "the part is %s, but this rank's of %s that is %s is %s",
            shape_text(&local->shape).text, shape_text(&dtensor->shape).text,
            hoop_sharding_describe(&dtensor->spec.sharding,
                                   dtensor->shape.n_dims)
                .text,
            shape_text(part).text);
    return HOOP_OK;
}

enum hoop_status
hoop_dtensor_from_local(const struct hoop_tensor *local,
                        const struct hoop_shape *shape,
                        const struct hoop_tensor_spec *spec,
                        hoop_dtensor_t **out_dtensor)
{
    CLEANUP(hoop_dtensor_free) hoop_dtensor_t *dtensor = NULL;
    struct hoop_shape whole;
    enum hoop_status status = HOOP_OK;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!local || !out_dtensor)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           local ? "out_dtensor" : "local");
    if (shape)
        whole = *shape;
    else
        status = global_shape_from_local(local, spec, &whole);
    if (status == HOOP_OK)
        status = dtensor_spec_check(local->dtype, &whole, spec);
    if (status == HOOP_OK)
        status =
            dtensor_create_without_data(local->dtype, &whole, spec, &dtensor);
    if (status == HOOP_OK && dtensor_is_rank_in_mesh(dtensor)) {
        status = local_part_check(local, dtensor);
        dtensor->local.data = local->data;
    }
    if (status != HOOP_OK)
        return error_pass(status);
    *out_dtensor = STEAL(dtensor);
    return HOOP_OK;
}

/* Returns whether this rank holds the value and not the operator's neutral
 * element. */
static bool
rank_holds_partial_value(const struct hoop_dtensor *dtensor)
{
    const struct hoop_sharding *sharding = &dtensor->spec.sharding;
    const struct hoop_axes *partial = &sharding->partial;

    if (partial->n_axes == 0 ||
        !neutral_exists(dtensor->local.dtype, sharding->partial_op))
        return true;
    for (uint32_t i = 0; i < partial->n_axes; i++) {
        if (hoop_mesh_coordinate(dtensor->spec.mesh, partial->axes[i]) != 0)
            return false;
    }
    return true;
}

static enum hoop_status
local_part_fill_from_global(const struct hoop_dtensor *dtensor,
                            const struct hoop_tensor *global)
{
    const struct hoop_tensor *local = &dtensor->local;
    struct hoop_part part;

    if (!local->data)
        return HOOP_OK;
    if (!rank_holds_partial_value(dtensor)) {
        neutral_fill(local->dtype, dtensor->spec.sharding.partial_op,
                     local->data, operand_count(local));
        return HOOP_OK;
    }
    const enum hoop_status status = hoop_sharding_part_here(
        &dtensor->spec.sharding, dtensor->spec.mesh, &dtensor->shape, &part);
    if (status != HOOP_OK)
        return error_pass(status);
    const struct view whole = view_of_shape(&dtensor->shape);
    const struct view from = view_cut(&whole, &part);
    const struct view to = view_of_shape(&part.shape);
    view_copy(&from, &(struct view_memory){global->dtype, global->data}, &to,
              &(struct view_memory){local->dtype, local->data});
    return HOOP_OK;
}

enum hoop_status
hoop_dtensor_from_global(const struct hoop_tensor *global,
                         const struct hoop_tensor_spec *spec,
                         hoop_dtensor_t **out_dtensor)
{
    CLEANUP(hoop_dtensor_free) hoop_dtensor_t *dtensor = NULL;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!global || !out_dtensor)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           global ? "out_dtensor" : "global");
    enum hoop_status status =
        dtensor_spec_check(global->dtype, &global->shape, spec);
    if (status == HOOP_OK && mesh_own_place(spec->mesh) != HOOP_NO_RANK)
        status = operand_check(global, "global");
    if (status == HOOP_OK)
        status = dtensor_create_allocated(global->dtype, &global->shape, spec,
                                          &dtensor);
    if (status == HOOP_OK)
        status = local_part_fill_from_global(dtensor, global);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_dtensor = STEAL(dtensor);
    return HOOP_OK;
}

/*
 * A hash of a tensor's content in any layout.
 *
 * Each element is hashed together with its index in the whole tensor, and
 * the hashes are added, so their order does not matter. Along axes that cut
 * nothing only the first rank contributes.
 */

enum {
    /* The dtype, the number of dimensions, and each dimension. */
    SIGNATURE_NUMBERS_MAX = 2 + HOOP_MAX_DIMS,
};

static bool
dtensor_rank_is_first_replica(const struct hoop_dtensor *dtensor)
{
    const unsigned cutting = sharding_cut_axes_mask(&dtensor->spec.sharding);

    for (uint32_t axis = 0; axis < hoop_mesh_n_axes(dtensor->spec.mesh);
         axis++) {
        if (!(cutting & 1U << axis) &&
            hoop_mesh_coordinate(dtensor->spec.mesh, axis) > 0)
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
digest_allreduce_over_mesh(const struct hoop_dtensor *dtensor,
                           uint64_t mine,
                           uint64_t *out_sum)
{
    const uint32_t n_axes = hoop_mesh_n_axes(dtensor->spec.mesh);
    const struct hoop_shape *shape = &dtensor->shape;
    uint32_t axes[HOOP_MAX_AXES];
    size_t agreed[SIGNATURE_NUMBERS_MAX] = {(size_t)dtensor->local.dtype,
                                            shape->n_dims};
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
    if (!dtensor_is_rank_in_mesh(dtensor)) {
        *out_digest = 0;
        return HOOP_OK;
    }
    enum hoop_status status = hoop_dtensor_part(dtensor, &part);
    if (status == HOOP_OK && dtensor_rank_is_first_replica(dtensor))
        mine = part_digest(dtensor, &part);
    if (status == HOOP_OK)
        status = digest_allreduce_over_mesh(dtensor, mine, &sum);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_digest = sum;
    return HOOP_OK;
}
