/*
 * parallel/group_mesh.h - the meshes that a process group's tensors lie over
 *
 * Rows of tensor parallelism, and the axes that a row is cut by. The same sizes
 * have one mesh, so that tensors that lie alike share its communicators.
 */

#ifndef PARALLEL_GROUP_MESH_H
#define PARALLEL_GROUP_MESH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/process_group.h"
#include "hoop/sharding.h"

struct group_mesh;

struct group_meshes {
    hoop_pg_t *group;        /* whose meshes they are */
    hoop_session_t *session; /* borrowed, as ranks */
    const uint32_t *ranks;
    uint32_t n_rows;
    uint32_t n_columns;
    pthread_mutex_t lock;
    LIST_HEAD(, group_mesh) list; /* under the lock */
};

/* What is borrowed is set. */
void
group_meshes_init(struct group_meshes *meshes);
void
group_meshes_deinit(struct group_meshes *meshes);

/* "data", and the axes of row, whose places are the columns. Borrowed: it lives
 * as long as meshes. Handle: HOOP_E_INVALID, HOOP_E_EXHAUSTED. Thread: any. */
enum hoop_status
group_mesh_find(struct group_meshes *meshes,
                const struct hoop_mesh_shape *row,
                hoop_mesh_t **out_mesh);

/* Whether it is one of these, or of a group like this one. */
bool
group_mesh_is_alike(const struct group_meshes *meshes, const hoop_mesh_t *mesh);

#endif
