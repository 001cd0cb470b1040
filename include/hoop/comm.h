/* hoop/comm.h - a fixed, ordered set of ranks that call collectives together */

#ifndef HOOP_COMM_H
#define HOOP_COMM_H

#include <stdint.h>

#include "hoop/api.h"
#include "hoop/status.h"

HOOP_BEGIN

typedef struct hoop_comm hoop_comm_t;

/* Stable for the life of the communicator. Thread: any. */
HOOP_API uint32_t
hoop_comm_rank(const hoop_comm_t *comm);
HOOP_API uint32_t
hoop_comm_size(const hoop_comm_t *comm);

/*
 * Deadline of the operations started on comm from now on, from their start.
 * 0: the session's. Thread: any.
 */
HOOP_API void
hoop_comm_set_timeout(hoop_comm_t *comm, uint32_t timeout_ms);

HOOP_END

#endif
