/*
 * parallel/junction.h - communicators of the ranks of two meshes
 *
 * Formed when first asked for by all of these ranks, and kept by the source
 * mesh: a list of ranks has one, whatever the target is.
 */

#ifndef PARALLEL_JUNCTION_H
#define PARALLEL_JUNCTION_H

#include <pthread.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/mesh.h"

struct junction;

struct junctions {
    pthread_mutex_t lock;
    LIST_HEAD(, junction) list; /* under the lock */
};

void
junctions_init(struct junctions *junctions);
/* Frees the communicators. */
void
junctions_deinit(struct junctions *junctions);

/*
 * The world ranks of both meshes: the source's in the order of their places,
 * behind them those of the target that the source has not, in theirs; at most
 * as many as both have. out_places: where in the list the target's places are.
 * Returns how many.
 */
uint32_t
junction_list(const hoop_mesh_t *source,
              const hoop_mesh_t *target,
              uint32_t *out_ranks,
              uint32_t *out_places);

/*
 * The communicator of that list, of meshes of one session. Borrowed: it lives
 * as long as source, and outlives target.
 * Handle: as hoop_mesh_comm(). Thread: any.
 */
enum hoop_status
junction_comm(hoop_mesh_t *source, hoop_mesh_t *target, hoop_comm_t **out_comm);

#endif
