/* tune/placement.h - which ranks of a context share a host, by the roster */

#ifndef TUNE_PLACEMENT_H
#define TUNE_PLACEMENT_H

#include "hoop/status.h"

#include "engine/engine.h"
#include "plan/nodes.h"
#include "transport/roster.h"

/* The same on all members. *out_nodes is the caller's.
 * Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
placement_find(const struct comm_context *context,
               const struct roster *roster,
               struct plan_nodes **out_nodes);

#endif
