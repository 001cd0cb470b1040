/*
 * train_3d/axes.h - the ranks as a grid: pipeline, data and tensor
 *
 * Neighbours in tensor parallelism talk most: their ranks are adjacent, so that
 * they share a node. Then come replicas, then stages:
 *
 *   rank = (stage * n_replicas + replica) * n_parts + part
 */

#ifndef TRAIN_3D_AXES_H
#define TRAIN_3D_AXES_H

#include <stdint.h>

#include "hoop/hoop.h"

/* How many along each axis; their product is the number of ranks. */
struct axes_sizes {
    uint32_t data;
    uint32_t tensor;
    uint32_t pipeline;
};

/* The ranks that differ from this one along one axis only. All borrowed: the
 * session has the world, the mesh the others. */
struct axes {
    hoop_mesh_t *mesh;
    hoop_comm_t *world;
    hoop_comm_t *data;
    hoop_comm_t *tensor;
    hoop_comm_t *pipeline;
};

/* All ranks of the world call it. Undo with axes_deinit(), also after a
 * failure. Handle: as hoop_mesh_comm(). */
HOOP_NODISCARD enum hoop_status
axes_init(struct axes *axes, hoop_session_t *session, struct axes_sizes sizes);
/* Zeroed memory is fine. */
void
axes_deinit(struct axes *axes);

#endif
