/* api/select.h - choose the algorithm of a collective */

#ifndef API_SELECT_H
#define API_SELECT_H

#include <stddef.h>

#include "engine/call.h"
#include "plan/plan.h"
#include "session/comm.h"

/* The algorithm for a call on comm, the same on all ranks. Never NULL for a
 * collective. For the meaning of n_bytes see select/tuning.h. */
const struct algorithm *
select_algorithm(const struct hoop_comm *comm,
                 enum call_name name,
                 size_t n_bytes);

#endif
