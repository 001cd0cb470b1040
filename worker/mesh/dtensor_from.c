/*
 * mesh/dtensor_from.c - creates a distributed tensor from local data
 *
 * The data are used as the part, or a part is copied out of the whole. Neither
 * needs another rank.
 */

#include <string.h>

#include "base/error.h"
#include "dtype/dtype.h"
#include "dtype/neutral.h"
#include "mesh/dtensor.h"
#include "mesh/mesh.h"
#include "tensor/layout.h"
#include "tensor/operand.h"
#include "tensor/shape.h"

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
    if (status == HOOP_OK && dtensor_is_here(dtensor)) {
        status = local_part_check(local, dtensor);
        dtensor->local.data = local->data;
    }
    if (status != HOOP_OK)
        return error_pass(status);
    *out_dtensor = STEAL(dtensor);
    return HOOP_OK;
}

/* Returns the part as a view into global, which is dense. */
static struct hoop_tensor
global_part_view(const struct hoop_tensor *global,
                 const struct hoop_part *part,
                 size_t strides[HOOP_MAX_DIMS])
{
    size_t stride = 1;
    size_t offset = 0;

    for (uint32_t dim = global->shape.n_dims; dim-- > 0;) {
        strides[dim] = stride;
        offset += part->offset[dim] * stride;
        stride *= global->shape.dims[dim];
    }
    return (struct hoop_tensor){
        .data = (uint8_t *)global->data + offset * dtype_size(global->dtype),
        .dtype = global->dtype,
        .shape = part->shape,
        .strides = strides,
    };
}

/* Returns whether this rank holds the value and not the operator's neutral
 * element. */
static bool
has_partial_value(const struct hoop_dtensor *dtensor)
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
    size_t strides[HOOP_MAX_DIMS];
    struct hoop_part part;

    if (!local->data)
        return HOOP_OK;
    if (!has_partial_value(dtensor)) {
        neutral_fill(local->dtype, dtensor->spec.sharding.partial_op,
                     local->data, operand_count(local));
        return HOOP_OK;
    }
    const enum hoop_status status = hoop_sharding_part_here(
        &dtensor->spec.sharding, dtensor->spec.mesh, &dtensor->shape, &part);
    if (status != HOOP_OK)
        return error_pass(status);
    const struct hoop_tensor from = global_part_view(global, &part, strides);
    layout_copy(&from, local);
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
