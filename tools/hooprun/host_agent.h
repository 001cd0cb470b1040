/*
 * hooprun/host_agent.h - `hooprun --agent`, for a hooprun on another host
 *
 * It starts the workers of its host, sends their output and how they end
 * through its standard output, and passes on what comes through its input. If
 * its input ends, or nothing comes for LINK_SILENCE_S, it kills all workers.
 */

#ifndef HOOPRUN_HOST_AGENT_H
#define HOOPRUN_HOST_AGENT_H

#include "hooprun/worker.h"

/* An agent_fn. owner is a struct worker_setup of which only old_mask and
 * xfsz_action are set. */
int
host_agent_run(void *owner, const struct agent_front *front);

#endif
