/* probe.h - ask a coordinator whether it serves: a container's health check */

#ifndef SERVER_PROBE_H
#define SERVER_PROBE_H

#include "hoop/status.h"

/*
 * Waits a few seconds at most. Handle: HOOP_E_UNAVAILABLE (nobody answers, or
 * it is draining); everything else is a failure, too.
 */
enum hoop_status
probe_run(const char *address);

#endif
