/*
 * mesh/union_comm.h - communicators of the ranks of two meshes
 *
 * A communicator is formed when all of its ranks first ask for it. The source
 * mesh keeps it; targets that lead to the same list of ranks share it.
 */

#ifndef MESH_UNION_COMM_H
#define MESH_UNION_COMM_H

#include <pthread.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/mesh.h"

struct union_comm;

struct union_comms {
    pthread_mutex_t lock;
    LIST_HEAD(, union_comm) list; /* protected by lock */
};

/* Initialises the lock and an empty list. */
void
union_comms_init(struct union_comms *union_comms);
/* Frees the communicators. */
void
union_comms_deinit(struct union_comms *union_comms);

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
