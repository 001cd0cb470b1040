/* train_3d/mesh.c - where a rank is in a grid of data, tensor and pipeline */

#include "train_3d/mesh.h"

enum hoop_status
mesh_init(struct mesh *mesh, hoop_comm_t *world, struct mesh_sizes sizes)
{
    const uint32_t rank = hoop_comm_rank(world);
    const uint32_t part = rank % sizes.tensor;
    const uint32_t replica = rank / sizes.tensor % sizes.data;
    const uint32_t stage = rank / sizes.tensor / sizes.data;

    /* Ranks of one color stay together: who agrees in the other two. */
    const int64_t part_color = (int64_t)stage * sizes.data + replica;
    const int64_t replica_color = (int64_t)stage * sizes.tensor + part;
    const int64_t stage_color = (int64_t)replica * sizes.tensor + part;

    *mesh = (struct mesh){.world = world};
    enum hoop_status status =
        hoop_comm_split(world, part_color, part, &mesh->tensor);
    if (status == HOOP_OK)
        status = hoop_comm_split(world, replica_color, replica, &mesh->data);
    if (status == HOOP_OK)
        status = hoop_comm_split(world, stage_color, stage, &mesh->pipeline);
    return status;
}

void
mesh_deinit(struct mesh *mesh)
{
    hoop_comm_free(mesh->tensor);
    hoop_comm_free(mesh->data);
    hoop_comm_free(mesh->pipeline);
    *mesh = (struct mesh){0};
}
