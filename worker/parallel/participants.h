/*
 * parallel/participants.h - a tensor on its way from one mesh to another
 *
 * Who takes part: the source's ranks in the order of their places, behind them
 * those of the target that the source has not. Nobody is asked; the
 * communicator of these ranks, in this order, is union_comm_find()'s.
 */

#ifndef PARALLEL_PARTICIPANTS_H
#define PARALLEL_PARTICIPANTS_H

#include "base/cleanup.h"
#include "parallel/dtensor.h"
#include "parallel/redistribution.h"

struct participants {
    struct redistribution_request request; /* borrows the lists */
    uint32_t here;    /* the caller's rank; HOOP_NO_RANK: in neither mesh */
    uint32_t *ranks;  /* [request.n_ranks], of the world */
    uint32_t *places; /* of the target's places, their ranks */
};

/*
 * From how dtensor lies to how spec says; both are borrowed for the call.
 * Handle: HOOP_E_INVALID (NULL, another session, as hoop_sharding_check()), the
 * same on all ranks; HOOP_E_EXHAUSTED. Zeroed: nothing to deinit.
 */
enum hoop_status
participants_init(struct participants *participants,
                  const struct hoop_dtensor *dtensor,
                  const struct hoop_tensor_spec *spec,
                  enum redistribution_way way);
void
participants_deinit(struct participants *participants);

static inline void
participants_deinit_at(struct participants *participants)
{
    participants_deinit(participants);
}

#endif
