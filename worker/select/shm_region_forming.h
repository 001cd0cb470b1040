/*
 * select/shm_region_forming.h - creates the shared region of a communicator
 *
 * If all members are on one host, rank 0 creates a shared region
 * (transport/shm/region.h), all members open it and open each other's wake-up
 * handles, and all agree whether that succeeded. If it did not, there is no
 * region, which is not an error: every collective works without one. The same
 * holds for reading each other's memory (transport/shm/cma.h).
 */

#ifndef SELECT_SHM_REGION_FORMING_H
#define SELECT_SHM_REGION_FORMING_H

#include <stdint.h>

#include "hoop/status.h"

#include "base/config.h"
#include "engine/engine.h"

/*
 * All members call this before any operation that may use shared memory.
 * config is this rank's own.
 * Handle: none; it fails as an operation on context would.
 */
enum hoop_status
shm_region_negotiate(struct engine *engine,
                     struct comm_context *context,
                     const struct roster *roster,
                     const struct config *config,
                     uint64_t deadline_ns);

#endif
