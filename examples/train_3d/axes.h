/*
 * train_3d/axes.h - the ranks in a grid: pipeline, data and tensor
 *
 * Ranks of a tensor-parallel group communicate most, so they are adjacent, in
 * order to share a node. Replicas come next, and then stages:
 *
 *   rank = (stage * n_replicas + replica) * n_parts + part
 */

#ifndef TRAIN_3D_AXES_H
#define TRAIN_3D_AXES_H

#include <stdint.h>

#include "hoop/hoop.h"

/* The sizes of the axes. Their product is the number of ranks. */
struct axes_sizes {
    uint32_t data;
    uint32_t tensor;
    uint32_t pipeline;
};

/* Each communicator has the ranks that differ from this one along one axis
 * only. All are borrowed: the world is the session's, and the others are the
 * mesh's. */
struct axes {
    hoop_mesh_t *mesh;
    hoop_comm_t *world;
    hoop_comm_t *data;
    hoop_comm_t *tensor;
    hoop_comm_t *pipeline;
};

/* All ranks of the world call it. Undo it with axes_deinit(), also after a
 * failure. Handle: as hoop_mesh_comm(). */
HOOP_NODISCARD enum hoop_status
axes_init(struct axes *axes, hoop_session_t *session, struct axes_sizes sizes);
/* The memory may also be zeroed. */
void
axes_deinit(struct axes *axes);

#endif
