/* parallel/transit.c - a tensor on its way from one mesh to another */

#include "parallel/transit.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "parallel/junction.h"
#include "parallel/mesh.h"
#include "parallel/refinement.h"
#include "session/comm.h"

static enum hoop_status
check(const struct hoop_dtensor *dtensor, const struct hoop_tensor_spec *spec)
{
    if (!dtensor)
        return error_raise(HOOP_E_INVALID, "dtensor is NULL");
    const enum hoop_status status =
        dtensor_check(dtensor->local.dtype, &dtensor->shape, spec);
    if (status != HOOP_OK)
        return error_pass(status);
    if (mesh_world(spec->mesh) != mesh_world(dtensor->spec.mesh))
        return error_raise(HOOP_E_INVALID,
                           "spec->mesh is of another session than the tensor");
    return HOOP_OK;
}

/* HOOP_NO_RANK: it is not there. */
static uint32_t
rank_in(const struct transit *transit, uint32_t world_rank)
{
    for (uint32_t i = 0; i < transit->request.n_ranks; i++) {
        if (transit->ranks[i] == world_rank)
            return i;
    }
    return HOOP_NO_RANK;
}

static enum hoop_status
transit_list(struct transit *transit,
             const hoop_mesh_t *source,
             const hoop_mesh_t *target)
{
    const uint32_t n_target = mesh_n_places(target);

    transit->ranks = calloc((size_t)mesh_n_places(source) + n_target,
                            sizeof(*transit->ranks));
    transit->places = calloc(n_target, sizeof(*transit->places));
    if (!transit->ranks || !transit->places)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the ranks of two "
                                             "meshes");
    transit->request.n_ranks =
        junction_list(source, target, transit->ranks, transit->places);
    transit->here = rank_in(transit, hoop_comm_rank(mesh_world(source)));
    return HOOP_OK;
}

static bool
same_sizes(const struct hoop_mesh_shape *one,
           const struct hoop_mesh_shape *other)
{
    return one->n_axes == other->n_axes &&
           memcmp(one->sizes, other->sizes,
                  one->n_axes * sizeof(*one->sizes)) == 0;
}

/* Two meshes of the same ranks in the same order become one: what neither cuts
 * stays apart, as rows of data parallelism, however rows are cut. */
static void
transit_refine(struct transit *transit)
{
    struct redistribution_side *from = &transit->request.from;
    struct redistribution_side *to = &transit->request.to;
    struct hoop_mesh_shape fine;

    for (uint32_t rank = 0; rank < transit->request.n_ranks; rank++) {
        if (transit->places[rank] != rank)
            return;
    }
    if (same_sizes(&from->mesh, &to->mesh) ||
        !refinement_of(&from->mesh, &to->mesh, &fine))
        return;
    from->sharding = refinement_sharding(&from->mesh, &fine, &from->sharding);
    to->sharding = refinement_sharding(&to->mesh, &fine, &to->sharding);
    from->mesh = fine;
    to->mesh = fine;
}

enum hoop_status
transit_init(struct transit *transit,
             const struct hoop_dtensor *dtensor,
             const struct hoop_tensor_spec *spec,
             enum redistribution_way way)
{
    *transit = (struct transit){.here = HOOP_NO_RANK};
    enum hoop_status status = check(dtensor, spec);
    if (status == HOOP_OK)
        status = transit_list(transit, dtensor->spec.mesh, spec->mesh);
    if (status != HOOP_OK) {
        transit_deinit(transit);
        return error_pass(status);
    }
    struct redistribution_request *request = &transit->request;
    request->from = (struct redistribution_side){
        .mesh = hoop_mesh_shape_of(dtensor->spec.mesh),
        .sharding = dtensor->spec.sharding,
    };
    request->to = (struct redistribution_side){
        .ranks = transit->places,
        .mesh = hoop_mesh_shape_of(spec->mesh),
        .sharding = spec->sharding,
    };
    request->shape = dtensor->shape;
    request->dtype = dtensor->local.dtype;
    request->way = way;
    request->tuner = mesh_world(spec->mesh)->domain->tuner;
    request->world_ranks = transit->ranks;
    if (mesh_n_places(dtensor->spec.mesh) == mesh_n_places(spec->mesh))
        transit_refine(transit);
    return HOOP_OK;
}

void
transit_deinit(struct transit *transit)
{
    free(transit->ranks);
    free(transit->places);
    *transit = (struct transit){.here = HOOP_NO_RANK};
}
