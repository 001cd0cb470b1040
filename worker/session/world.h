/* session/world.h - the world communicator, and what all communicators share */

#ifndef SESSION_WORLD_H
#define SESSION_WORLD_H

#include <stdint.h>

#include "hoop/status.h"

#include "engine/engine.h"
#include "select/tuner.h"
#include "session/comm.h"
#include "session/config.h"
#include "transport/roster.h"

/* Everything is borrowed for the session's life. */
struct world_options {
    struct loop *loop;
    struct rpc_client *client;
    const struct config *config;
    const struct roster *roster;
    struct engine *engine;
    struct tuner *tuner;
    uint64_t id; /* given out by the coordinator */
};

struct world {
    struct hoop_comm comm;
    struct comm_domain domain;
};

/* Open world, which must be zeroed and must not move afterwards.
 * Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
world_open(const struct world_options *options, struct world *world);

/* Connect to the ring neighbours, form the shared region and agree on the table
 * of algorithms. The control loop must be running.
 * Handle: HOOP_E_TIMEOUT, HOOP_E_PEER_LOST. */
enum hoop_status
world_connect(const struct world_options *options,
              struct world *world,
              uint64_t deadline_ns);

/* Call after the engine has been left and the RPC client destroyed. Zeroed
 * memory is fine. */
void
world_close(struct world *world);

#endif
