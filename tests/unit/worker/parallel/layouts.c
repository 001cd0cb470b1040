/* tests/unit/worker/parallel/layouts.c - all ways to lay a tensor over a mesh
 */

#include "layouts.h"

#include <assert.h>

struct listing {
    const struct hoop_mesh_shape *mesh;
    uint32_t n_dims;
    struct hoop_sharding *layouts;
    uint32_t n_layouts;
};

/* What is added last of all: addends, in ascending order only. */
static void
layouts_extend(struct listing *listing,
               const struct hoop_sharding *sharding,
               unsigned used)
{
    const uint32_t n_axes = listing->mesh->n_axes;

    for (unsigned partial = 0; partial < 1U << n_axes; partial++) {
        struct hoop_sharding *layout = &listing->layouts[listing->n_layouts];

        if (partial & used)
            continue;
        assert(listing->n_layouts < LAYOUTS_MAX);
        *layout = *sharding;
        listing->n_layouts++;
        if (partial == 0)
            layout->partial_op = HOOP_SUM;
        for (uint32_t axis = 0; axis < n_axes; axis++) {
            if (partial & 1U << axis)
                layout->partial.axes[layout->partial.n_axes++] = axis;
        }
    }
}

/* Axes are appended to dim and to those behind it. */
static void
layouts_cut(struct listing *listing,
            const struct hoop_sharding *sharding,
            unsigned used,
            uint32_t dim)
{
    if (dim == listing->n_dims) {
        layouts_extend(listing, sharding, used);
        return;
    }
    layouts_cut(listing, sharding, used, dim + 1);
    for (uint32_t axis = 0; axis < listing->mesh->n_axes; axis++) {
        struct hoop_sharding longer = *sharding;
        struct hoop_axes *axes = &longer.dims[dim];

        if (used & 1U << axis)
            continue;
        axes->axes[axes->n_axes++] = axis;
        layouts_cut(listing, &longer, used | 1U << axis, dim);
    }
}

uint32_t
layouts_list(const struct hoop_mesh_shape *mesh,
             uint32_t n_dims,
             enum hoop_reduce_op op,
             struct hoop_sharding layouts[LAYOUTS_MAX])
{
    struct listing listing = {
        .mesh = mesh, .n_dims = n_dims, .layouts = layouts};
    const struct hoop_sharding whole = {.partial_op = op};

    layouts_cut(&listing, &whole, 0, 0);
    return listing.n_layouts;
}

uint32_t
layouts_places(const struct hoop_mesh_shape *mesh)
{
    uint32_t n = 1;

    for (uint32_t axis = 0; axis < mesh->n_axes; axis++)
        n *= mesh->sizes[axis];
    return n;
}
