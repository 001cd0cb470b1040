/* select/placement.h - finds the ranks of a context that share a host */

#ifndef SELECT_PLACEMENT_H
#define SELECT_PLACEMENT_H

#include "hoop/status.h"

#include "engine/engine.h"
#include "plan/nodes.h"
#include "transport/roster.h"

/* Groups the ranks by host, as the roster names it. All members get the same
 * result. The caller destroys *out_nodes. Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
placement_nodes_from_roster(const struct comm_context *context,
                            const struct roster *roster,
                            struct plan_nodes **out_nodes);

#endif
