/*
 * mesh/redistribute/refinement.c - the common refinement of two grids of the same places
 *
 * Going from the last axis to the first, the product of the sizes so far is a
 * border. The fine grid has the borders of both grids; each border must be a
 * multiple of the one before it.
 */

#include "mesh/redistribute/refinement.h"

#include <stdint.h>

/* Returns the smallest product of a grid's last axes above border, or 0. */
static uint64_t
next_axes_product(const struct hoop_mesh_shape *mesh, uint64_t border)
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
refinement_of_meshes(const struct hoop_mesh_shape *one,
                     const struct hoop_mesh_shape *other,
                     struct hoop_mesh_shape *out_fine)
{
    uint32_t sizes[HOOP_MAX_AXES];
    uint32_t n_axes = 0;
    uint64_t border = 1;
    uint64_t next;

    while ((next = next_axes_product(one, border)) != 0) {
        const uint64_t others = next_axes_product(other, border);

        next = others < next ? others : next;
        /* next is 0 if the other grid has ended: it has fewer places. */
        if (next == 0 || next % border != 0 || n_axes == HOOP_MAX_AXES)
            return false;
        sizes[n_axes++] = (uint32_t)(next / border);
        border = next;
    }
    if (next_axes_product(other, border) != 0 || n_axes == 0)
        return false;
    out_fine->n_axes = n_axes;
    for (uint32_t axis = 0; axis < n_axes; axis++)
        out_fine->sizes[axis] = sizes[n_axes - 1 - axis];
    return true;
}

/* Appends the axes of fine that make up axis of coarse. */
static void
axes_add_refined(const struct hoop_mesh_shape *coarse,
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
        axes_add_refined(coarse, fine, axes->axes[i], &refined);
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
