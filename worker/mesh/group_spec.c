/*
 * mesh/group_spec.c - tensor layouts over a process group
 *
 * A layout over a group becomes a layout over a mesh: axis 0 is the group's
 * rows, and the axes of a row's sharding are shifted behind it. A tensor's
 * group is that of its mesh.
 */

#include "hoop/dtensor.h"

#include "base/error.h"
#include "mesh/dtensor.h"
#include "mesh/group_mesh.h"
#include "mesh/mesh.h"
#include "mesh/process_group.h"

/* Axes in excess are left to the check of the sharding. */
static void
axes_increment(struct hoop_axes *axes)
{
    for (uint32_t i = 0; i < axes->n_axes && i < HOOP_MAX_AXES; i++) {
        if (axes->axes[i] < HOOP_MAX_AXES)
            axes->axes[i]++;
    }
}

enum hoop_status
hoop_pg_tensor_spec(hoop_pg_t *group,
                    const struct hoop_group_sharding *dist,
                    struct hoop_tensor_spec *out_spec)
{
    struct hoop_group_sharding row = {.mesh = {.n_axes = 1}};
    struct hoop_tensor_spec spec = {.mesh = NULL};

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!group || !out_spec)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           group ? "out_spec" : "group");
    struct group_meshes *meshes = process_group_meshes(group);
    row.mesh.sizes[0] = meshes->n_columns;
    if (dist)
        row = *dist;
    const enum hoop_status status =
        group_mesh_get_or_create(meshes, &row.mesh, &spec.mesh);
    if (status != HOOP_OK)
        return error_pass(status);
    spec.sharding = row.sharding;
    for (uint32_t dim = 0; dim < HOOP_MAX_DIMS; dim++)
        axes_increment(&spec.sharding.dims[dim]);
    axes_increment(&spec.sharding.partial);
    *out_spec = spec;
    return HOOP_OK;
}

hoop_pg_t *
hoop_dtensor_process_group(const hoop_dtensor_t *dtensor)
{
    return dtensor ? mesh_process_group(dtensor->spec.mesh) : NULL;
}

/* group is NULL for the tensor's own. */
static enum hoop_status
spec_for_group(const hoop_dtensor_t *dtensor,
               const struct hoop_group_sharding *dist,
               hoop_pg_t *group,
               struct hoop_tensor_spec *out_spec)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!dtensor)
        return error_raise(HOOP_E_INVALID, "dtensor is NULL");
    if (!group)
        group = mesh_process_group(dtensor->spec.mesh);
    if (!group)
        return error_raise(HOOP_E_PRECONDITION,
                           "the tensor lies over a mesh of no process group: "
                           "say which group it is to go to");
    const enum hoop_status status = hoop_pg_tensor_spec(group, dist, out_spec);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_dtensor_redistribute_over(const hoop_dtensor_t *dtensor,
                               const struct hoop_group_sharding *dist,
                               hoop_pg_t *group,
                               hoop_dtensor_t **out_dtensor)
{
    struct hoop_tensor_spec spec;
    enum hoop_status status = spec_for_group(dtensor, dist, group, &spec);

    if (status == HOOP_OK)
        status = hoop_dtensor_redistribute(dtensor, &spec, out_dtensor);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_dtensor_redistribute_over_start(const hoop_dtensor_t *dtensor,
                                     const struct hoop_group_sharding *dist,
                                     hoop_pg_t *group,
                                     hoop_dtensor_t **out_dtensor,
                                     hoop_op_t **out_op)
{
    struct hoop_tensor_spec spec;
    enum hoop_status status = spec_for_group(dtensor, dist, group, &spec);

    if (status == HOOP_OK)
        status = hoop_dtensor_redistribute_start(dtensor, &spec, out_dtensor,
                                                 out_op);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Keeps the tensor's group and its compute spec. */
static enum hoop_status
spec_for_own_group(const hoop_dtensor_t *dtensor,
                   const struct hoop_group_sharding *dist,
                   struct hoop_tensor_spec *out_spec)
{
    const enum hoop_status status =
        spec_for_group(dtensor, dist, NULL, out_spec);

    if (status != HOOP_OK)
        return error_pass(status);
    out_spec->compute = dtensor->spec.compute;
    return HOOP_OK;
}

enum hoop_status
hoop_dtensor_set_dist_spec(hoop_dtensor_t *dtensor,
                           const struct hoop_group_sharding *dist)
{
    struct hoop_tensor_spec spec;
    enum hoop_status status = spec_for_own_group(dtensor, dist, &spec);

    if (status == HOOP_OK)
        status = hoop_dtensor_set_spec(dtensor, &spec);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_dtensor_set_dist_spec_start(hoop_dtensor_t *dtensor,
                                 const struct hoop_group_sharding *dist,
                                 hoop_op_t **out_op)
{
    struct hoop_tensor_spec spec;
    enum hoop_status status = spec_for_own_group(dtensor, dist, &spec);

    if (status == HOOP_OK)
        status = hoop_dtensor_set_spec_start(dtensor, &spec, out_op);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
