/* mesh/redistribute/redistribution_check.h - checks the request of a redistribution */

#ifndef MESH_REDISTRIBUTE_REDISTRIBUTION_CHECK_H
#define MESH_REDISTRIBUTE_REDISTRIBUTION_CHECK_H

#include "mesh/redistribute/redistribution.h"

/* Checks a request and counts the places of both meshes.
 * Handle: as redistribution_create(). */
enum hoop_status
redistribution_check(const struct redistribution_request *request,
                     uint32_t out_n_places[2]);

#endif
