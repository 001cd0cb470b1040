/* checkpoint/request.c - the tensors that a caller wants saved or loaded */

#include "checkpoint/request.h"

#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "mesh/mesh.h"

enum hoop_status
request_comm_of_mesh(hoop_mesh_t *mesh, hoop_comm_t **out_comm)
{
    uint32_t axes[HOOP_MAX_AXES];

    if (!mesh)
        return error_raise(HOOP_E_INVALID, "spec->mesh is NULL");
    for (uint32_t i = 0; i < HOOP_MAX_AXES; i++)
        axes[i] = i;
    const enum hoop_status status =
        hoop_mesh_comm(mesh, axes, hoop_mesh_n_axes(mesh), out_comm);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
request_comm_of_tensors(const struct checkpoint_request *request,
                        hoop_comm_t **out_comm)
{
    if (!request->tensors || request->n_tensors == 0)
        return error_raise(HOOP_E_INVALID, "there are no tensors");
    if (!request->tensors[0].dtensor)
        return error_raise(HOOP_E_INVALID, "tensors[0].dtensor is NULL");
    const enum hoop_status status = request_comm_of_mesh(
        hoop_dtensor_spec(request->tensors[0].dtensor)->mesh, out_comm);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Check that the mesh has the ranks of comm, in their order. */
static enum hoop_status
mesh_check_same_ranks(const hoop_mesh_t *mesh,
                      const hoop_comm_t *comm,
                      const char *name)
{
    const uint32_t n_places = mesh_n_places(mesh);
    bool is_same = n_places == hoop_comm_size(comm);

    for (uint32_t i = 0; is_same && i < n_places; i++)
        is_same = mesh_ranks(mesh)[i] == hoop_comm_world_rank(comm, i);
    if (!is_same)
        return error_raise(HOOP_E_INVALID,
                           "the mesh of tensor \"%s\" has other ranks than "
                           "that of the first",
                           name);
    return HOOP_OK;
}

static enum hoop_status
manifest_describe_tensor(const struct hoop_named_dtensor *tensor,
                         const hoop_comm_t *comm,
                         struct checkpoint_manifest *manifest,
                         size_t number)
{
    if (!tensor->name || !tensor->dtensor)
        return error_raise(HOOP_E_INVALID, "tensors[%zu] has no %s", number,
                           tensor->name ? "dtensor" : "name");
    const struct hoop_tensor_spec *spec = hoop_dtensor_spec(tensor->dtensor);
    enum hoop_status status =
        mesh_check_same_ranks(spec->mesh, comm, tensor->name);
    if (status == HOOP_OK)
        status = manifest_set_tensor_name(manifest, number, tensor->name);
    if (status != HOOP_OK)
        return error_pass(status);
    struct hoop_checkpoint_tensor *described = &manifest->tensors[number];
    described->dtype = hoop_dtensor_dtype(tensor->dtensor);
    described->shape = *hoop_dtensor_shape(tensor->dtensor);
    described->mesh = hoop_mesh_shape_of(spec->mesh);
    described->sharding = spec->sharding;
    return HOOP_OK;
}

enum hoop_status
request_to_manifest(const struct checkpoint_request *request,
                    const hoop_comm_t *comm,
                    struct checkpoint_manifest **out_manifest)
{
    CLEANUP(manifest_destroy) struct checkpoint_manifest *manifest = NULL;

    if (request->n_tensors > LIMIT_CHECKPOINT_TENSORS)
        return error_raise(HOOP_E_INVALID,
                           "%zu tensors are more than the %d of a checkpoint",
                           request->n_tensors, LIMIT_CHECKPOINT_TENSORS);
    enum hoop_status status =
        manifest_create(request->n_tensors, hoop_comm_size(comm), &manifest);
    for (size_t i = 0; status == HOOP_OK && i < request->n_tensors; i++)
        status =
            manifest_describe_tensor(&request->tensors[i], comm, manifest, i);
    if (status == HOOP_OK)
        status = manifest_check(manifest);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_manifest = STEAL(manifest);
    return HOOP_OK;
}
