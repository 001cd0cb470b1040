/*
 * mesh/mesh.h - what distributed tensors need of a mesh
 *
 * These functions add to hoop/mesh.h the list of all ranks, the session's world
 * and what the mesh owns. Thread: any.
 */

#ifndef MESH_MESH_H
#define MESH_MESH_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/mesh.h"
#include "hoop/process_group.h"

struct plan_cache;
struct rank_list;

/* Returns the world rank of each place; borrowed for the life of the mesh. */
const uint32_t *
mesh_ranks(const hoop_mesh_t *mesh);
uint32_t
mesh_n_places(const hoop_mesh_t *mesh);

/* Returns the caller's place, or HOOP_NO_RANK outside the mesh. */
uint32_t
mesh_own_place(const hoop_mesh_t *mesh);
/* Returns the place of a world rank, or HOOP_NO_RANK outside the mesh. */
uint32_t
mesh_place_of_rank(const hoop_mesh_t *mesh, uint32_t rank);

/* Returns the world communicator that the mesh's ranks belong to. Each session
 * has one. */
hoop_comm_t *
mesh_world_comm(const hoop_mesh_t *mesh);

/* Sets and returns the process group whose tensors use the mesh; NULL if there
 * is none. It is set once, before other threads know the mesh. */
void
mesh_set_process_group(hoop_mesh_t *mesh, hoop_pg_t *group);
hoop_pg_t *
mesh_process_group(const hoop_mesh_t *mesh);

/* Returns "" if there is no such axis. */
const char *
mesh_axis_name(const hoop_mesh_t *mesh, uint32_t axis);

/* Returns the cache of plans that start here
 * (mesh/redistribute/plan_cache.h). */
struct plan_cache *
mesh_plan_cache(hoop_mesh_t *mesh);

/* Returns the communicator of a list that begins with the mesh's ranks by
 * place; others may follow. It is formed when all its ranks first ask for
 * it. It is borrowed and lives as long as the mesh; those who ask for the
 * same list share it. Handle: as hoop_mesh_comm(). */
enum hoop_status
mesh_comm_with_others(hoop_mesh_t *mesh,
                      const struct rank_list *list,
                      hoop_comm_t **out_comm);

#endif
