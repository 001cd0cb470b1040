/*
 * parallel/mesh.h - a mesh, as those see it who lay tensors over it
 *
 * What hoop/mesh.h leaves out: all ranks at once, and the session. Thread: any.
 */

#ifndef PARALLEL_MESH_H
#define PARALLEL_MESH_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/mesh.h"
#include "hoop/process_group.h"

struct cached_plans;
struct union_comms;

/* World ranks by place; borrowed for the mesh's life. */
const uint32_t *
mesh_ranks(const hoop_mesh_t *mesh);
uint32_t
mesh_n_places(const hoop_mesh_t *mesh);

/* The caller's; HOOP_NO_RANK: it has none. */
uint32_t
mesh_place(const hoop_mesh_t *mesh);
/* The place of a world rank; HOOP_NO_RANK: it has none. */
uint32_t
mesh_place_of(const hoop_mesh_t *mesh, uint32_t rank);

/* The world that the ranks are of: one for each session. */
hoop_comm_t *
mesh_world(const hoop_mesh_t *mesh);

/* The process group whose tensors lie over it; NULL: none. Set once, before
 * others know the mesh. */
void
mesh_set_group(hoop_mesh_t *mesh, hoop_pg_t *group);
hoop_pg_t *
mesh_group(const hoop_mesh_t *mesh);

/* "" unless there is such an axis. */
const char *
mesh_axis_name(const hoop_mesh_t *mesh, uint32_t axis);

/* Its communicators with other meshes; parallel/union_comm.h's. */
struct union_comms *
mesh_union_comms(hoop_mesh_t *mesh);

/* What was planned from here; parallel/cached_plan.h's. */
struct cached_plans *
mesh_cached_plans(hoop_mesh_t *mesh);

#endif
