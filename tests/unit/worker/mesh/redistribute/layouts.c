/* tests/unit/worker/mesh/redistribute/layouts.c - all ways to lay a tensor
 * over a mesh */

#include "layouts.h"

#include <assert.h>
#include <string.h>

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

/* How many axes lists begin with alike. */
static uint32_t
alike(const struct hoop_axes *a, const struct hoop_axes *b)
{
    uint32_t n = 0;

    while (n < a->n_axes && n < b->n_axes && a->axes[n] == b->axes[n])
        n++;
    return n;
}

/* What of b's list is not in a's, which it begins with. */
static bool
added(const struct hoop_axes *a,
      const struct hoop_axes *b,
      struct hoop_axes *out_axes)
{
    struct hoop_axes axes = {0};

    if (alike(a, b) != a->n_axes || a->n_axes == b->n_axes)
        return false;
    for (uint32_t i = a->n_axes; i < b->n_axes; i++)
        axes.axes[axes.n_axes++] = b->axes[i];
    *out_axes = axes;
    return true;
}

static bool
same(const struct hoop_axes *a, const struct hoop_axes *b)
{
    return a->n_axes == b->n_axes && alike(a, b) == a->n_axes;
}

/* Axes that are addends in a only; false: b has others. */
static bool
reduced(const struct hoop_sharding *a,
        const struct hoop_sharding *b,
        struct hoop_axes *out_axes)
{
    struct hoop_axes axes = {0};
    uint32_t at = 0;

    for (uint32_t i = 0; i < a->partial.n_axes; i++) {
        const uint32_t axis = a->partial.axes[i];

        if (at < b->partial.n_axes && b->partial.axes[at] == axis)
            at++;
        else
            axes.axes[axes.n_axes++] = axis;
    }
    *out_axes = axes;
    return at == b->partial.n_axes;
}

bool
layouts_step(const struct hoop_sharding *a,
             const struct hoop_sharding *b,
             struct layouts_step *out_step)
{
    struct hoop_axes gained = {0};
    struct hoop_axes lost = {0};
    struct hoop_axes summed;
    uint32_t n_differ = 0;
    struct layouts_step step = {0};

    if (!reduced(a, b, &summed))
        return false;
    for (uint32_t dim = 0; dim < HOOP_MAX_DIMS; dim++) {
        if (same(&a->dims[dim], &b->dims[dim]))
            continue;
        n_differ++;
        if (added(&a->dims[dim], &b->dims[dim], &gained))
            step.shard_dim = dim;
        else if (added(&b->dims[dim], &a->dims[dim], &lost))
            step.gather_dim = dim;
        else
            return false;
    }
    if (summed.n_axes > 0 && n_differ == 0) {
        step.kind = HOOP_STEP_ALLREDUCE;
        step.axes = summed;
    } else if (summed.n_axes > 0) {
        step.kind = HOOP_STEP_REDUCE_SCATTER;
        step.axes = gained;
        if (n_differ > 1 || summed.n_axes > 1 || !same(&summed, &gained))
            return false;
    } else if (n_differ == 1) {
        step.kind = gained.n_axes > 0 ? HOOP_STEP_SLICE : HOOP_STEP_ALLGATHER;
        step.axes = gained.n_axes > 0 ? gained : lost;
    } else {
        step.kind = HOOP_STEP_ALL_TO_ALL;
        step.axes = lost;
        if (n_differ != 2 || !same(&gained, &lost))
            return false;
    }
    *out_step = step;
    return true;
}
