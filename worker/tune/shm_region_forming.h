/*
 * tune/shm_region_forming.h - memory for all ranks of a communicator, if it can be
 *
 * When all members are on one host, rank 0 makes a shared region (transport/shm_region.h), all
 * open it and find each other's bells, and all agree that this went well. Else
 * there is none, which is no error: everything works without. So it is with
 * reading each other's memory (transport/cma.h).
 */

#ifndef TUNE_SHM_REGION_FORMING_H
#define TUNE_SHM_REGION_FORMING_H

#include <stdint.h>

#include "hoop/status.h"

#include "engine/engine.h"
#include "transport/cma.h"
#include "transport/shm_negotiation.h"

struct shm_region_modes {
    enum shm_mode shm_negotiation;
    enum cma_mode attaching;
};

/*
 * By all members, before anything else that may use shared memory. The modes are this
 * rank's.
 * Handle: none; what ends an operation ends this.
 */
enum hoop_status
shm_region_form(struct engine *engine,
                struct comm_context *context,
                const struct roster *roster,
                const struct shm_region_modes *modes,
                uint64_t deadline_ns);

#endif
