/*
 * mesh/mesh.h - what distributed tensors need of a mesh
 *
 * These functions add to hoop/mesh.h the list of all ranks, the session's world
 * and what the mesh owns. Thread: any.
 */

#ifndef MESH_MESH_H
#define MESH_MESH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/mesh.h"
#include "hoop/process_group.h"

struct plan_cache;
struct union_comms;

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

/* Returns the mesh's communicators with other meshes. */
struct union_comms *
mesh_union_comms(hoop_mesh_t *mesh);

/* Returns the cache of plans that start here (mesh/redistribute/plan_cache.h). */
struct plan_cache *
mesh_plan_cache(hoop_mesh_t *mesh);

/*
 * A communicator of the ranks of two meshes is formed when all of its ranks
 * first ask for it. The source mesh keeps it; targets that lead to the same
 * list of ranks share it.
 */

struct union_comm;

struct union_comms {
    pthread_mutex_t lock;
    LIST_HEAD(, union_comm) list; /* protected by lock */
};

/* Lists the world ranks of both meshes: the source's by place, then the
 * target's that are not in the source, by place. out_ranks has room for the
 * places of both. out_places is set to the index in the list of each place of
 * the target. Returns the length of the list. */
uint32_t
union_comm_list_ranks(const hoop_mesh_t *source,
                      const hoop_mesh_t *target,
                      uint32_t *out_ranks,
                      uint32_t *out_places);

/* Returns the communicator of that list. Both meshes are of one session. It is
 * borrowed and lives as long as source, also after target.
 * Handle: as hoop_mesh_comm().
 * Thread: any. */
enum hoop_status
union_comm_get_or_create(hoop_mesh_t *source,
                         hoop_mesh_t *target,
                         hoop_comm_t **out_comm);

#endif
