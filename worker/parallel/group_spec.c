/*
 * parallel/group_spec.c - how a tensor lies over a process group, as a mesh
 *
 * The group's rows are axis 0; what a row's sharding says of its axes is said
 * of those behind it.
 *
 * No test of its own: tests/integration/dtensor_group_test.c lays tensors over
 * groups of real processes.
 */

#include "hoop/dtensor.h"

#include "base/error.h"
#include "parallel/group_mesh.h"
#include "parallel/process_group.h"

/* One too many is left to the check of the sharding. */
static void
shift(struct hoop_axes *axes)
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

    error_clear();
    if (!group || !out_spec)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           group ? "out_spec" : "group");
    struct group_meshes *meshes = process_group_meshes(group);
    row.mesh.sizes[0] = meshes->n_columns;
    if (dist)
        row = *dist;
    const enum hoop_status status =
        group_mesh_find(meshes, &row.mesh, &spec.mesh);
    if (status != HOOP_OK)
        return error_pass(status);
    spec.sharding = row.sharding;
    for (uint32_t dim = 0; dim < HOOP_MAX_DIMS; dim++)
        shift(&spec.sharding.dims[dim]);
    shift(&spec.sharding.partial);
    *out_spec = spec;
    return HOOP_OK;
}
