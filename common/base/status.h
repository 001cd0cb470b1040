/* base/status.h - the names of the statuses */

#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include "hoop/status.h"

/* gRPC's spelling, e.g. "INVALID_ARGUMENT"; never NULL. */
const char *
status_name(enum hoop_status status);

#endif
