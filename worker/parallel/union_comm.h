/*
 * parallel/union_comm.h - communicators of the ranks of two meshes
 *
 * Formed when first asked for by all of these ranks, and kept by the source
 * mesh: a list of ranks has one, whatever the target is.
 */

#ifndef PARALLEL_UNION_COMM_H
#define PARALLEL_UNION_COMM_H

#include <pthread.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/mesh.h"

struct union_comm;

struct union_comms {
    pthread_mutex_t lock;
    LIST_HEAD(, union_comm) list; /* under the lock */
};

void
union_comms_init(struct union_comms *union_comms);
/* Frees the communicators. */
void
union_comms_deinit(struct union_comms *union_comms);

/*
 * The world ranks of both meshes: the source's in the order of their places,
 * behind them those of the target that the source has not, in theirs; at most
 * as many as both have. out_places: where in the list the target's places are.
 * Returns how many.
 */
uint32_t
union_comm_list(const hoop_mesh_t *source,
                const hoop_mesh_t *target,
                uint32_t *out_ranks,
                uint32_t *out_places);

/*
 * The communicator of that list, of meshes of one session. Borrowed: it lives
 * as long as source, and outlives target.
 * Handle: as hoop_mesh_comm(). Thread: any.
 */
enum hoop_status
union_comm_find(hoop_mesh_t *source,
                hoop_mesh_t *target,
                hoop_comm_t **out_comm);

#endif
