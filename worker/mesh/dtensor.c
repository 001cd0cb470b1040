/*
 * mesh/dtensor.c - a tensor that is distributed over the ranks of a mesh
 *
 * mesh/dtensor_from.c creates one from a part or from the whole, and
 * mesh/redistribute/dtensor_move.c redistributes it.
 */

#include "mesh/dtensor.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "hoop/session.h"

#include "base/error.h"
#include "dtype/dtype.h"
#include "dtype/reduction.h"
#include "mesh/group_mesh.h"
#include "mesh/mesh.h"
#include "mesh/process_group.h"
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
    if (dtensor_is_here(dtensor)) {
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

    if (status == HOOP_OK && dtensor_is_here(dtensor)) {
        status = result_allocate(dtype, &dtensor->local.shape, &dtensor->own);
        dtensor->local.data = dtensor->own.data;
    }
    if (status != HOOP_OK)
        return error_pass(status);
    *out_dtensor = STEAL(dtensor);
    return HOOP_OK;
}

bool
dtensor_is_here(const struct hoop_dtensor *dtensor)
{
    return mesh_own_place(dtensor->spec.mesh) != HOOP_NO_RANK;
}

void
dtensor_set_layout(struct hoop_dtensor *dtensor,
                   const struct hoop_tensor_spec *spec)
{
    struct hoop_part part;

    dtensor->spec = *spec;
    if (dtensor_is_here(dtensor)) {
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
    return dtensor && dtensor_is_here(dtensor) ? &dtensor->local : NULL;
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
