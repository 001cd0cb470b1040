/* base/status.h - names and groups of statuses */

#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include <stdbool.h>

#include "hoop/status.h"

/* Return gRPC's spelling, such as "INVALID_ARGUMENT"; never NULL. */
const char *
status_name(enum hoop_status status);

/* Return whether the status means that a rank no longer takes part: it is lost,
 * or has reported its own failure. */
static inline bool
status_is_loss(enum hoop_status status)
{
    return status == HOOP_E_PEER_LOST || status == HOOP_E_RANK_FAILED;
}

#endif
