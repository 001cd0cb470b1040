/* mesh/redistribute/redistribution_check.c - checks the request of a redistribution */

#include "mesh/redistribute/redistribution_check.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/limits.h"
#include "dtype/dtype.h"
#include "dtype/reduction.h"
#include "mesh/grid.h"

static enum hoop_status
side_sharding_check(const struct redistribution_request *request,
                    const struct redistribution_side *side,
                    const char *name)
{
    char text[LIMIT_ERROR_TEXT];
    const enum hoop_status status =
        hoop_sharding_check(&side->sharding, &side->mesh, &request->shape);

    if (status == HOOP_OK)
        return HOOP_OK;
    snprintf(text, sizeof(text), "%s", error_text());
    return error_raise(status, "the layout %s: %s", name, text);
}

static enum hoop_status
side_partial_check(const struct redistribution_request *request,
                   const struct redistribution_side *side,
                   const char *name)
{
    const struct hoop_sharding *sharding = &side->sharding;

    if (sharding->partial.n_axes == 0 ||
        request->way == REDISTRIBUTION_BACKWARD ||
        reduction_find(request->dtype, sharding->partial_op))
        return HOOP_OK;
    return error_raise(HOOP_E_INVALID, "the layout %s: %s of %s has no meaning",
                       name, reduce_op_name(sharding->partial_op),
                       dtype_name(request->dtype));
}

/* Checks that each place has a rank of the context and no two have the same. */
static enum hoop_status
side_ranks_check(const struct redistribution_request *request,
                 const struct redistribution_side *side,
                 const char *name,
                 uint32_t n_places)
{
    CLEANUP(free) bool *is_there = calloc(request->n_ranks, sizeof(*is_there));

    if (!is_there)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u ranks",
                           request->n_ranks);
    for (uint32_t place = 0; place < n_places; place++) {
        const uint32_t rank = side->ranks ? side->ranks[place] : place;

        if (rank >= request->n_ranks)
            return error_raise(HOOP_E_INVALID,
                               "the layout %s: place %u of the mesh is rank "
                               "%u, which is not below %u",
                               name, place, rank, request->n_ranks);
        if (is_there[rank])
            return error_raise(HOOP_E_INVALID,
                               "the layout %s: rank %u is in the mesh twice",
                               name, rank);
        is_there[rank] = true;
    }
    return HOOP_OK;
}

/* The mesh has been checked with the sharding. */
static uint32_t
mesh_shape_n_places(const struct hoop_mesh_shape *mesh)
{
    uint32_t n_places = 1;

    for (uint32_t axis = 0; axis < mesh->n_axes; axis++)
        n_places *= mesh->sizes[axis];
    return n_places;
}

static enum hoop_status
redistribution_side_check(const struct redistribution_request *request,
                          const struct redistribution_side *side,
                          const char *name,
                          uint32_t *out_n_places)
{
    enum hoop_status status = side_sharding_check(request, side, name);

    if (status == HOOP_OK)
        status = side_partial_check(request, side, name);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_n_places = mesh_shape_n_places(&side->mesh);
    status = side_ranks_check(request, side, name, *out_n_places);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
redistribution_check(const struct redistribution_request *request,
                     uint32_t out_n_places[2])
{
    if (dtype_size(request->dtype) == 0)
        return error_raise(HOOP_E_INVALID, "dtype %d is not known to hoop",
                           (int)request->dtype);
    enum hoop_status status = redistribution_side_check(
        request, &request->from, "to come from", &out_n_places[0]);
    if (status == HOOP_OK)
        status = redistribution_side_check(request, &request->to, "to go to",
                                           &out_n_places[1]);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
