/* base/status.h - the names of the statuses, and what they have in common */

#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include <stdbool.h>

#include "hoop/status.h"

/* gRPC's spelling, e.g. "INVALID_ARGUMENT"; never NULL. */
const char *
status_name(enum hoop_status status);

/* A rank does not take part any more: it is lost, or has given up. */
static inline bool
status_is_loss(enum hoop_status status)
{
    return status == HOOP_E_PEER_LOST || status == HOOP_E_RANK_FAILED;
}

#endif
