/*
 * mesh/redistribute/participants.h - the ranks that take part in a
 * redistribution
 *
 * They are the source mesh's ranks by place, then the target mesh's ranks that
 * are not in the source. Each rank computes the list by itself.
 * mesh_comm_with_others() returns the communicator of these ranks in this
 * order.
 */

#ifndef MESH_REDISTRIBUTE_PARTICIPANTS_H
#define MESH_REDISTRIBUTE_PARTICIPANTS_H

#include <stdbool.h>

#include "hoop/sharding.h"

#include "base/cleanup.h"
#include "mesh/dtensor.h"
#include "mesh/redistribute/redistribution.h"

struct participants {
    struct redistribution_request request; /* borrows both lists below */
    uint32_t here;    /* index of the caller; HOOP_NO_RANK: in neither mesh */
    uint32_t *ranks;  /* [request.n_ranks]: world ranks */
    uint32_t *places; /* [place of the target]: index into ranks */
};

/* Fills the request for moving dtensor to the layout spec; both are borrowed
 * for the call. After a failure nothing needs to be freed.
 * Handle: HOOP_E_INVALID (NULL, another session, as hoop_sharding_check()), the
 * same on all ranks; HOOP_E_EXHAUSTED. */
enum hoop_status
participants_init(struct participants *participants,
                  const struct hoop_dtensor *dtensor,
                  const struct hoop_tensor_spec *spec,
                  enum redistribution_direction way);
void
participants_deinit(struct participants *participants);

static inline void
participants_deinit_at(struct participants *participants)
{
    participants_deinit(participants);
}

/*
 * The functions are pure. Grids of 2 x 4 and 2 x 2 x 2 are both 2 x 2 x 2:
 * an axis of four is two axes of two. A sharding over one of them can be
 * written over the refinement, where an axis that neither sharding uses is
 * visible as unused.
 */

/* Finds the refinement of two grids of equally many places, without axes of
 * size 1. Returns false if there is none (2 x 3 and 3 x 2), or if it has too
 * many axes. */
bool
mesh_shapes_common_refinement(const struct hoop_mesh_shape *one,
                              const struct hoop_mesh_shape *other,
                              struct hoop_mesh_shape *out_fine);

/* Returns the sharding over fine, which refines coarse, that gives every place
 * the same part. */
struct hoop_sharding
refinement_refine_sharding(const struct hoop_mesh_shape *coarse,
                           const struct hoop_mesh_shape *fine,
                           const struct hoop_sharding *sharding);

#endif
