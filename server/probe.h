/* probe.h - ask a coordinator whether it serves: a container's health check */

#ifndef SERVER_PROBE_H
#define SERVER_PROBE_H

#include "hoop/status.h"

struct hoop_coordinator_options;

/*
 * Waits a few seconds at most. TLS is that with which it serves, and so is the
 * token, which is told under TLS only; options NULL: without.
 * Handle: HOOP_E_UNAVAILABLE (nobody answers, or it is draining); everything
 * else is a failure, too.
 */
enum hoop_status
coordinator_probe_run(const char *address,
                      const struct hoop_coordinator_options *options);

#endif
