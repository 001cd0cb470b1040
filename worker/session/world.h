/* session/world.h - the communicator of all members, which a session begins
 * with */

#ifndef SESSION_WORLD_H
#define SESSION_WORLD_H

#include <stdint.h>

#include "hoop/status.h"

#include "engine/engine.h"
#include "session/comm.h"
#include "session/terms.h"
#include "transport/roster.h"
#include "tune/tuner.h"

/* All borrowed for the session's life. */
struct world_options {
    const struct terms *terms;
    const struct roster *roster;
    struct engine *engine;
    struct tuner *tuner;
    uint64_t id; /* the coordinator's */
};

/* Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
world_open(const struct world_options *options, struct hoop_comm *world);

/* Connect to the neighbours in the ring, and agree on the table of switch
 * points. The control loop must be running.
 * Handle: HOOP_E_TIMEOUT, HOOP_E_PEER_LOST. */
enum hoop_status
world_connect(const struct world_options *options,
              struct hoop_comm *world,
              uint64_t deadline_ns);

/* After its engine has been left. Zeroed memory is fine. */
void
world_close(struct hoop_comm *world);

#endif
