/*
 * train_3d/mesh.h - where a rank is in a grid of data, tensor and pipeline
 *
 * Neighbours in tensor parallelism talk most: their ranks are adjacent, so that
 * they share a node. Then come data-parallel neighbours, then stages:
 *
 *   rank = (stage * n_replicas + replica) * n_parts + part
 */

#ifndef TRAIN_3D_MESH_H
#define TRAIN_3D_MESH_H

#include <stdint.h>

#include "hoop/hoop.h"

/* How many in each direction; their product is the number of ranks. */
struct mesh_sizes {
    uint32_t data;
    uint32_t tensor;
    uint32_t pipeline;
};

/* The ranks that differ from this one in one direction only. */
struct mesh {
    hoop_comm_t *world; /* borrowed */
    hoop_comm_t *data;
    hoop_comm_t *tensor;
    hoop_comm_t *pipeline;
};

/* All ranks of world call it. Undo with mesh_deinit(), also after a failure. */
HOOP_NODISCARD enum hoop_status
mesh_init(struct mesh *mesh, hoop_comm_t *world, struct mesh_sizes sizes);
/* Zeroed memory is fine. */
void
mesh_deinit(struct mesh *mesh);

#endif
