/* coll/select.h - which algorithm does a collective */

#ifndef COLL_SELECT_H
#define COLL_SELECT_H

#include "engine/call.h"
#include "plan/plan.h"

/* Never NULL for a collective. The same on all ranks. */
const struct algorithm *
select_algorithm(enum call_name name);

#endif
