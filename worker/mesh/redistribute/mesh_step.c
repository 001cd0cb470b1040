/*
 * mesh/redistribute/mesh_step.c - how one step along lines of a mesh changes a
 * sharding
 */

#include "mesh/redistribute/mesh_step.h"

#include <assert.h>

#include "mesh/grid.h"
#include "mesh/sharding.h"

/* Sorts the axes in ascending order. */
static void
axes_sort(struct hoop_axes *axes)
{
    const unsigned mask = axes_mask(axes);

    *axes = (struct hoop_axes){0};
    for (uint32_t axis = 0; axis < HOOP_MAX_AXES; axis++) {
        if (mask & 1U << axis)
            axes_append(axes, axis);
    }
}

static bool
dim_divides_evenly(const struct hoop_axes *axes,
                   const struct hoop_mesh_shape *mesh,
                   size_t size)
{
    return size % axes_n_ranks(axes, mesh) == 0;
}

/* Sets is_uneven by the sizes of the parts, whatever it was. */
static void
sharding_update_uneven(struct hoop_sharding *sharding,
                       const struct hoop_mesh_shape *mesh,
                       const struct hoop_shape *shape)
{
    sharding->is_uneven = false;
    for (uint32_t dim = 0; dim < shape->n_dims; dim++) {
        if (!dim_divides_evenly(&sharding->dims[dim], mesh, shape->dims[dim]))
            sharding->is_uneven = true;
    }
}

struct hoop_sharding
sharding_canonical(const struct hoop_sharding *sharding,
                   const struct hoop_mesh_shape *mesh,
                   const struct hoop_shape *shape)
{
    struct hoop_sharding plain = {.partial = sharding->partial};
    unsigned is_short = 0;

    for (uint32_t axis = 0; axis < mesh->n_axes; axis++) {
        if (mesh->sizes[axis] == 1)
            is_short |= 1U << axis;
    }
    for (uint32_t dim = 0; dim < shape->n_dims; dim++) {
        /* Copies axis by axis, so that entries behind the end of a list are
         * zero. */
        plain.dims[dim] = sharding->dims[dim];
        axes_remove(&plain.dims[dim], is_short);
    }
    axes_remove(&plain.partial, is_short);
    axes_sort(&plain.partial);
    if (plain.partial.n_axes > 0)
        plain.partial_op = sharding->partial_op;
    sharding_update_uneven(&plain, mesh, shape);
    return plain;
}

uint64_t
sharding_key(const struct hoop_sharding *sharding)
{
    uint64_t key = 0;

    for (uint32_t dim = 0; dim <= HOOP_MAX_DIMS; dim++) {
        const struct hoop_axes *axes =
            dim < HOOP_MAX_DIMS ? &sharding->dims[dim] : &sharding->partial;

        for (uint32_t i = 0; i < axes->n_axes; i++) {
            const uint32_t position = dim < HOOP_MAX_DIMS ? i : 0;
            const uint64_t where = (uint64_t)(dim + 1) << 3 | position;

            key |= where << (7 * axes->axes[i]);
        }
    }
    return key;
}

size_t
sharding_largest_part(const struct hoop_sharding *sharding,
                      const struct hoop_mesh_shape *mesh,
                      const struct hoop_shape *shape)
{
    struct tiling tiling;

    tiling_init(&tiling, sharding, mesh, shape);
    return tiling_largest_tile(&tiling);
}

struct step_list {
    const struct mesh_step_rules *rules;
    const struct hoop_sharding *before;
    struct redistribution_step *steps;
    uint32_t n_steps;
};

/* Appends a step whose kind, axes and dimensions are set. */
static void
step_list_append(struct step_list *list, struct redistribution_step step)
{
    const struct mesh_step_rules *rules = list->rules;
    const enum hoop_step_kind kind = step.kind;
    const unsigned mask = axes_mask(&step.axes);
    struct hoop_sharding *after = &step.after;

    step.before = *list->before;
    *after = step.before;
    axes_remove(&after->partial, mask);
    if (after->partial.n_axes == 0)
        after->partial_op = HOOP_SUM;
    axes_remove(&after->dims[step.gather_dim], mask);
    for (uint32_t i = 0; i < step.axes.n_axes; i++) {
        if (kind == HOOP_STEP_SLICE || kind == HOOP_STEP_ALL_TO_ALL ||
            kind == HOOP_STEP_REDUCE_SCATTER)
            axes_append(&after->dims[step.shard_dim], step.axes.axes[i]);
    }
    sharding_update_uneven(after, &rules->mesh, &rules->shape);
    assert(list->n_steps < MESH_STEPS_MAX);
    list->steps[list->n_steps++] = step;
}

static struct hoop_axes
axes_make_single(uint32_t axis)
{
    return (struct hoop_axes){.n_axes = 1, .axes = {axis}};
}

/* Returns whether dim still has equal parts when axes cut it, too. */
static bool
dim_can_cut_evenly(const struct step_list *list,
                   uint32_t dim,
                   const struct hoop_axes *axes)
{
    const struct hoop_mesh_shape *mesh = &list->rules->mesh;
    const uint32_t n = axes_n_ranks(&list->before->dims[dim], mesh);

    return list->rules->shape.dims[dim] % (n * axes_n_ranks(axes, mesh)) == 0;
}

/* The first cut of a dimension may be uneven, since every rank has all of
 * it. */
static bool
dim_can_slice(const struct step_list *list,
              uint32_t dim,
              const struct hoop_axes *axes)
{
    return axes_n_ranks(&list->before->dims[dim], &list->rules->mesh) == 1 ||
           dim_can_cut_evenly(list, dim, axes);
}

static void
slice_steps_add(struct step_list *list)
{
    const unsigned used = sharding_cut_axes_mask(list->before) |
                          axes_mask(&list->before->partial);

    for (uint32_t axis = 0; axis < list->rules->mesh.n_axes; axis++) {
        const struct hoop_axes axes = axes_make_single(axis);

        if (!(list->rules->cutting & ~used & 1U << axis))
            continue;
        for (uint32_t dim = 0; dim < list->rules->shape.n_dims; dim++) {
            if (dim_can_slice(list, dim, &axes))
                step_list_append(
                    list, (struct redistribution_step){.kind = HOOP_STEP_SLICE,
                                                       .axes = axes,
                                                       .shard_dim = dim});
        }
    }
}

/* Adds the steps that remove the last n axes from dim, to every other dimension
 * or to none. */
static void
gather_steps_add(struct step_list *list, uint32_t dim, uint32_t n)
{
    struct redistribution_step step = {
        .kind = HOOP_STEP_ALLGATHER,
        .axes = axes_last(&list->before->dims[dim], n),
        .gather_dim = dim,
    };

    if (axes_mask(&step.axes) & ~list->rules->gathered)
        return;
    step_list_append(list, step);
    step.kind = HOOP_STEP_ALL_TO_ALL;
    for (uint32_t to = 0; to < list->rules->shape.n_dims; to++) {
        step.shard_dim = to;
        if (to != dim && dim_can_cut_evenly(list, to, &step.axes))
            step_list_append(list, step);
    }
}

/* Adds the reductions of one partial axis, into every dimension or into
 * none. */
static void
axis_reduction_steps_add(struct step_list *list, uint32_t axis)
{
    const struct hoop_axes axes = axes_make_single(axis);

    for (uint32_t dim = 0; dim < list->rules->shape.n_dims; dim++) {
        if (dim_can_cut_evenly(list, dim, &axes))
            step_list_append(list, (struct redistribution_step){
                                       .kind = HOOP_STEP_REDUCE_SCATTER,
                                       .axes = axes,
                                       .shard_dim = dim});
    }
    step_list_append(list, (struct redistribution_step){
                               .kind = HOOP_STEP_ALLREDUCE, .axes = axes});
}

static void
reduction_steps_add(struct step_list *list)
{
    const struct mesh_step_rules *rules = list->rules;
    struct hoop_axes together = list->before->partial;

    axes_remove(&together, ~rules->reduced);
    const bool is_apart =
        together.n_axes == 1 || rules->reductions == MESH_STEP_REDUCTIONS_ANY;
    for (uint32_t i = 0; is_apart && i < together.n_axes; i++)
        axis_reduction_steps_add(list, together.axes[i]);
    if (together.n_axes > 1 && together.n_axes <= rules->n_axes_per_step_max)
        step_list_append(
            list, (struct redistribution_step){.kind = HOOP_STEP_ALLREDUCE,
                                               .axes = together});
}

uint32_t
mesh_steps_enumerate(const struct mesh_step_rules *rules,
                     const struct hoop_sharding *sharding,
                     struct redistribution_step steps[MESH_STEPS_MAX])
{
    struct step_list list = {
        .rules = rules, .before = sharding, .steps = steps};

    reduction_steps_add(&list);
    slice_steps_add(&list);
    for (uint32_t dim = 0; dim < rules->shape.n_dims; dim++) {
        const struct hoop_axes *axes = &sharding->dims[dim];

        if (!dim_divides_evenly(axes, &rules->mesh, rules->shape.dims[dim]))
            continue;
        for (uint32_t n = 1;
             n <= axes->n_axes && n <= rules->n_axes_per_step_max; n++)
            gather_steps_add(&list, dim, n);
    }
    return list.n_steps;
}
