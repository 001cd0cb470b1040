/* mesh/redistribute/participants.c - the ranks that take part in a
 * redistribution */

#include "mesh/redistribute/participants.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "mesh/grid.h"
#include "mesh/mesh.h"
#include "session/comm.h"

/*
 * The common refinement of two grids of the same places.
 *
 * Going from the last axis to the first, the product of the sizes so far is
 * a border. The fine grid has the borders of both grids; each border must be
 * a multiple of the one before it.
 */

/* Returns the smallest product of a grid's last axes above border, or 0. */
static uint64_t
mesh_axes_product_above(const struct hoop_mesh_shape *mesh, uint64_t border)
{
    uint64_t product = 1;

    for (uint32_t axis = mesh->n_axes; axis-- > 0;) {
        product *= mesh->sizes[axis];
        if (product > border)
            return product;
    }
    return 0;
}

bool
mesh_shapes_common_refinement(const struct hoop_mesh_shape *one,
                              const struct hoop_mesh_shape *other,
                              struct hoop_mesh_shape *out_fine)
{
    uint32_t sizes[HOOP_MAX_AXES];
    uint32_t n_axes = 0;
    uint64_t border = 1;
    uint64_t next;

    while ((next = mesh_axes_product_above(one, border)) != 0) {
        const uint64_t others = mesh_axes_product_above(other, border);

        next = others < next ? others : next;
        /* next is 0 if the other grid has ended: it has fewer places. */
        if (next == 0 || next % border != 0 || n_axes == HOOP_MAX_AXES)
            return false;
        sizes[n_axes++] = (uint32_t)(next / border);
        border = next;
    }
    if (mesh_axes_product_above(other, border) != 0 || n_axes == 0)
        return false;
    out_fine->n_axes = n_axes;
    for (uint32_t axis = 0; axis < n_axes; axis++)
        out_fine->sizes[axis] = sizes[n_axes - 1 - axis];
    return true;
}

/* Appends the axes of fine that make up axis of coarse. */
static void
axes_append_refined(const struct hoop_mesh_shape *coarse,
                    const struct hoop_mesh_shape *fine,
                    uint32_t axis,
                    struct hoop_axes *axes)
{
    uint64_t behind = 1;
    uint64_t product = 1;
    uint32_t first = fine->n_axes;

    for (uint32_t i = axis + 1; i < coarse->n_axes; i++)
        behind *= coarse->sizes[i];
    while (product < behind)
        product *= fine->sizes[--first];
    const uint32_t end = first;
    while (product < behind * coarse->sizes[axis])
        product *= fine->sizes[--first];
    while (first < end)
        axes->axes[axes->n_axes++] = first++;
}

static struct hoop_axes
axes_refine(const struct hoop_mesh_shape *coarse,
            const struct hoop_mesh_shape *fine,
            const struct hoop_axes *axes)
{
    struct hoop_axes refined = {.n_axes = 0};

    for (uint32_t i = 0; i < axes->n_axes; i++)
        axes_append_refined(coarse, fine, axes->axes[i], &refined);
    return refined;
}

struct hoop_sharding
refinement_refine_sharding(const struct hoop_mesh_shape *coarse,
                           const struct hoop_mesh_shape *fine,
                           const struct hoop_sharding *sharding)
{
    struct hoop_sharding refined = *sharding;

    for (uint32_t dim = 0; dim < HOOP_MAX_DIMS; dim++)
        refined.dims[dim] = axes_refine(coarse, fine, &sharding->dims[dim]);
    refined.partial = axes_refine(coarse, fine, &sharding->partial);
    return refined;
}

static enum hoop_status
redistribute_arguments_check(const struct hoop_dtensor *dtensor,
                             const struct hoop_tensor_spec *spec)
{
    if (!dtensor)
        return error_raise(HOOP_E_INVALID, "dtensor is NULL");
    const enum hoop_status status =
        dtensor_spec_check(dtensor->local.dtype, &dtensor->shape, spec);
    if (status != HOOP_OK)
        return error_pass(status);
    if (mesh_world_comm(spec->mesh) != mesh_world_comm(dtensor->spec.mesh))
        return error_raise(HOOP_E_INVALID,
                           "spec->mesh is of another session than the tensor");
    return HOOP_OK;
}

/* Returns the index of a world rank, or HOOP_NO_RANK. */
static uint32_t
participants_index_of_rank(const struct participants *participants,
                           uint32_t world_rank)
{
    for (uint32_t i = 0; i < participants->request.n_ranks; i++) {
        if (participants->ranks[i] == world_rank)
            return i;
    }
    return HOOP_NO_RANK;
}

static enum hoop_status
participants_list_ranks(struct participants *participants,
                        const hoop_mesh_t *source,
                        const hoop_mesh_t *target)
{
    const uint32_t n_target = mesh_n_places(target);
    uint32_t n_ranks = mesh_n_places(source);

    participants->ranks =
        calloc((size_t)n_ranks + n_target, sizeof(*participants->ranks));
    participants->places = calloc(n_target, sizeof(*participants->places));
    if (!participants->ranks || !participants->places)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the ranks of two "
                                             "meshes");
    memcpy(participants->ranks, mesh_ranks(source),
           n_ranks * sizeof(*participants->ranks));
    for (uint32_t i = 0; i < n_target; i++) {
        const uint32_t rank = mesh_ranks(target)[i];
        const uint32_t place = mesh_place_of_rank(source, rank);

        participants->places[i] = place == HOOP_NO_RANK ? n_ranks : place;
        if (place == HOOP_NO_RANK)
            participants->ranks[n_ranks++] = rank;
    }
    participants->request.n_ranks = n_ranks;
    participants->here = participants_index_of_rank(
        participants, hoop_comm_rank(mesh_world_comm(source)));
    return HOOP_OK;
}

/* Replaces two meshes of the same ranks in the same order by their refinement.
 * So axes that neither layout uses, such as rows of data parallelism, remain
 * axes of their own however the rows are divided. */
static void
participants_refine_meshes(struct participants *participants)
{
    struct redistribution_side *from = &participants->request.from;
    struct redistribution_side *to = &participants->request.to;
    struct hoop_mesh_shape fine;

    for (uint32_t rank = 0; rank < participants->request.n_ranks; rank++) {
        if (participants->places[rank] != rank)
            return;
    }
    if (mesh_shapes_equal(&from->mesh, &to->mesh) ||
        !mesh_shapes_common_refinement(&from->mesh, &to->mesh, &fine))
        return;
    from->sharding =
        refinement_refine_sharding(&from->mesh, &fine, &from->sharding);
    to->sharding = refinement_refine_sharding(&to->mesh, &fine, &to->sharding);
    from->mesh = fine;
    to->mesh = fine;
}

enum hoop_status
participants_init(struct participants *participants,
                  const struct hoop_dtensor *dtensor,
                  const struct hoop_tensor_spec *spec,
                  enum redistribution_direction way)
{
    *participants = (struct participants){.here = HOOP_NO_RANK};
    enum hoop_status status = redistribute_arguments_check(dtensor, spec);
    if (status == HOOP_OK)
        status = participants_list_ranks(participants, dtensor->spec.mesh,
                                         spec->mesh);
    if (status != HOOP_OK) {
        participants_deinit(participants);
        return error_pass(status);
    }
    struct redistribution_request *request = &participants->request;
    request->from = (struct redistribution_side){
        .mesh = hoop_mesh_shape_of(dtensor->spec.mesh),
        .sharding = dtensor->spec.sharding,
    };
    request->to = (struct redistribution_side){
        .ranks = participants->places,
        .mesh = hoop_mesh_shape_of(spec->mesh),
        .sharding = spec->sharding,
    };
    request->shape = dtensor->shape;
    request->dtype = dtensor->local.dtype;
    request->way = way;
    request->tuner = mesh_world_comm(spec->mesh)->domain->tuner;
    request->world_ranks = participants->ranks;
    if (mesh_n_places(dtensor->spec.mesh) == mesh_n_places(spec->mesh))
        participants_refine_meshes(participants);
    return HOOP_OK;
}

void
participants_deinit(struct participants *participants)
{
    free(participants->ranks);
    free(participants->places);
    *participants = (struct participants){.here = HOOP_NO_RANK};
}
