/* parallel/redistribution_check.h - whether a redistribution can be done */

#ifndef PARALLEL_REDISTRIBUTION_CHECK_H
#define PARALLEL_REDISTRIBUTION_CHECK_H

#include "parallel/redistribution.h"

/* As redistribution_create(); how many places each mesh has. */
enum hoop_status
redistribution_check(const struct redistribution_request *request,
                     uint32_t out_n_places[2]);

#endif
