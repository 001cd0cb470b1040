/*
 * hooprun/host_agent.h - `hooprun --agent`, for a hooprun on another host
 *
 * It starts the workers of its host, sends what they write and how they end
 * through its standard output, and passes on what comes through its input. When
 * that ends, or nothing comes for LINK_SILENCE_S, it kills all of them.
 */

#ifndef HOOPRUN_HOST_AGENT_H
#define HOOPRUN_HOST_AGENT_H

#include "hooprun/worker.h"

/* An agent_fn. owner: a struct worker_setup without anything but old_mask and
 * xfsz_action. */
int
host_agent_run(void *owner, const struct agent_front *front);

#endif
