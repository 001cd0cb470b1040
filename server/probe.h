/* probe.h - ask a coordinator whether it serves: a container's health check */

#ifndef SERVER_PROBE_H
#define SERVER_PROBE_H

#include "hoop/status.h"

struct hoop_coordinator_options;

/*
 * Ask, and wait a few seconds at most. options are those of the coordinator:
 * its TLS is used, and its token is sent under TLS only. NULL: neither is used.
 * Handle: HOOP_E_UNAVAILABLE (no answer, or it is draining); any other error
 * also means that it does not serve.
 */
enum hoop_status
coordinator_probe_run(const char *address,
                      const struct hoop_coordinator_options *options);

#endif
