/*
 * mesh/group_mesh.h - the meshes of a process group's tensors
 *
 * The first axis of such a mesh is the rows of tensor parallelism; the other
 * axes divide a row. There is one mesh for each list of sizes, so that tensors
 * with equal layouts share communicators.
 */

#ifndef MESH_GROUP_MESH_H
#define MESH_GROUP_MESH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/process_group.h"
#include "hoop/sharding.h"

struct group_mesh;

struct group_meshes {
    hoop_pg_t *group;        /* the group that owns the meshes */
    hoop_session_t *session; /* borrowed, as is ranks */
    const uint32_t *ranks;
    uint32_t n_rows;
    uint32_t n_columns;
    pthread_mutex_t lock;
    LIST_HEAD(, group_mesh) list; /* protected by lock */
};

/* Initialises the lock and the list. The caller sets the other fields. */
void
group_meshes_init(struct group_meshes *meshes);
void
group_meshes_deinit(struct group_meshes *meshes);

/* Returns the mesh with the axis "data" followed by the axes of row, whose
 * sizes multiply to n_columns. It is created on first use. It is borrowed and
 * lives as long as meshes.
 * Handle: HOOP_E_INVALID, HOOP_E_EXHAUSTED.
 * Thread: any. */
enum hoop_status
group_mesh_get_or_create(struct group_meshes *meshes,
                         const struct hoop_mesh_shape *row,
                         hoop_mesh_t **out_mesh);

/* Returns whether the mesh is one of these or could be: it has the same ranks
 * and a first axis "data" with as many rows. */
bool
group_mesh_has_same_ranks(const struct group_meshes *meshes,
                          const hoop_mesh_t *mesh);

#endif
