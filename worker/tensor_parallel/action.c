/*
 * tensor_parallel/action.c - what a communication spec requires of a rank
 *
 * A table has one row for each pattern. The input is cut along shard_dim and
 * the output joined along gather_dim. In a backward they change places; a
 * mix-gather has one list of dimensions for both.
 */

#include "tensor_parallel/action.h"

#include <assert.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "dtype/dtype.h"
#include "mesh/grid.h"
#include "tensor/axis.h"
#include "tensor/layout.h"
#include "tensor/operand.h"

/*
 * A dense tensor as one block for each rank.
 *
 * A block is a tensor with the strides of the whole one. If a single
 * dimension is cut, tensor/axis.h copies all blocks in an order that suits
 * the cache.
 */

uint32_t
cuts_n_blocks(const struct cuts *cuts)
{
    uint32_t count = 1;

    for (uint32_t i = 0; i < cuts->n_cuts; i++)
        count *= cuts->cuts[i].n_parts;
    return count;
}

enum hoop_status
cuts_divide_shape(const struct cuts *cuts, struct hoop_shape *shape)
{
    for (uint32_t i = 0; i < cuts->n_cuts; i++) {
        const struct cut *cut = &cuts->cuts[i];
        size_t *size = &shape->dims[cut->dim];

        if (*size % cut->n_parts != 0)
            return error_raise(HOOP_E_INVALID,
                               "%zu elements along dim %u cannot be cut into "
                               "%u equal parts",
                               *size, cut->dim, cut->n_parts);
        *size /= cut->n_parts;
    }
    return HOOP_OK;
}

enum hoop_status
cuts_multiply_shape(const struct cuts *cuts, struct hoop_shape *shape)
{
    for (uint32_t i = 0; i < cuts->n_cuts; i++) {
        const struct cut *cut = &cuts->cuts[i];
        size_t *size = &shape->dims[cut->dim];

        if (__builtin_mul_overflow(*size, cut->n_parts, size))
            return error_raise(HOOP_E_INVALID,
                               "%u parts along dim %u are more than 2^64 "
                               "elements together",
                               cut->n_parts, cut->dim);
    }
    return HOOP_OK;
}

bool
cuts_is_noncontiguous(const struct cuts *cuts, const struct hoop_shape *whole)
{
    size_t n_outer = 1;

    if (cuts_n_blocks(cuts) == 1)
        return false;
    if (cuts->n_cuts != 1)
        return true;
    for (uint32_t i = 0; i < cuts->cuts[0].dim; i++)
        n_outer *= whole->dims[i];
    return n_outer > 1;
}

/* A block inside the whole tensor. */
struct block_view {
    struct hoop_tensor tensor;
    size_t strides[HOOP_MAX_DIMS];
};

static void
block_view_init(struct block_view *block_view,
                const struct cuts *cuts,
                const struct hoop_tensor *whole,
                uint32_t number)
{
    const struct hoop_shape *shape = &whole->shape;
    size_t offset = 0;
    size_t stride = 1;

    for (uint32_t i = shape->n_dims; i > 0; i--) {
        block_view->strides[i - 1] = stride;
        stride *= shape->dims[i - 1];
    }
    block_view->tensor = *whole;
    block_view->tensor.strides = block_view->strides;
    const enum hoop_status status =
        cuts_divide_shape(cuts, &block_view->tensor.shape);
    assert(status == HOOP_OK);
    (void)status;
    for (uint32_t i = 0; i < cuts->n_cuts; i++) {
        const struct cut *cut = &cuts->cuts[i];

        offset += number % cut->n_parts *
                  block_view->tensor.shape.dims[cut->dim] *
                  block_view->strides[cut->dim];
        number /= cut->n_parts;
    }
    if (stride > 0)
        block_view->tensor.data =
            (uint8_t *)whole->data + offset * dtype_size(whole->dtype);
}

void
cuts_copy_block_to_part(const struct cuts *cuts,
                        const struct hoop_tensor *whole,
                        uint32_t number,
                        void *part)
{
    struct block_view block_view;

    block_view_init(&block_view, cuts, whole, number);
    const struct hoop_tensor to = {
        .data = part, .dtype = whole->dtype, .shape = block_view.tensor.shape};
    layout_copy(&block_view.tensor, &to);
}

void
cuts_copy_block_from_part(const struct cuts *cuts,
                          const struct hoop_tensor *whole,
                          uint32_t number,
                          const void *part)
{
    struct block_view block_view;

    block_view_init(&block_view, cuts, whole, number);
    const struct hoop_tensor from = {.data = (void *)(uintptr_t)part,
                                     .dtype = whole->dtype,
                                     .shape = block_view.tensor.shape};
    layout_copy(&from, &block_view.tensor);
}

/* Finds the only dimension that is cut. Returns false if there are others. */
static bool
single_cut_axis_find(const struct cuts *cuts,
                     const struct hoop_tensor *whole,
                     struct axis *out_axis)
{
    return cuts->n_cuts == 1 &&
           axis_of(&whole->shape, (int32_t)cuts->cuts[0].dim, whole->dtype,
                   out_axis) == HOOP_OK;
}

void
cuts_pack_all_blocks(const struct cuts *cuts,
                     const struct hoop_tensor *whole,
                     void *parts)
{
    const uint32_t n_parts = cuts_n_blocks(cuts);
    const size_t n_bytes = operand_bytes(whole) / n_parts;
    struct axis axis;

    if (n_bytes == 0)
        return;
    if (single_cut_axis_find(cuts, whole, &axis)) {
        axis_divide(&axis, whole->data, n_parts, parts);
        return;
    }
    for (uint32_t i = 0; i < n_parts; i++)
        cuts_copy_block_to_part(cuts, whole, i, (uint8_t *)parts + i * n_bytes);
}

void
cuts_unpack_all_blocks(const struct cuts *cuts,
                       const struct hoop_tensor *whole,
                       const void *parts)
{
    const uint32_t n_parts = cuts_n_blocks(cuts);
    const size_t n_bytes = operand_bytes(whole) / n_parts;
    struct axis axis;

    if (n_bytes == 0)
        return;
    if (single_cut_axis_find(cuts, whole, &axis)) {
        axis_join(&axis, whole->data, n_parts, parts);
        return;
    }
    for (uint32_t i = 0; i < n_parts; i++)
        cuts_copy_block_from_part(cuts, whole, i,
                                  (const uint8_t *)parts + i * n_bytes);
}

/* Which dimensions a pattern needs. */
enum dims_needed {
    DIMS_NEEDED_NONE,
    DIMS_NEEDED_SAME,      /* both, equal; forward only the one that it uses */
    DIMS_NEEDED_DIFFERENT, /* gather_dim and shard_dim, independent */
    DIMS_NEEDED_MIX_GATHER,
};

struct pattern_rule {
    const char *name;
    enum comm_action_kind kinds[2]; /* [enum comm_action_direction] */
    enum dims_needed dims_needed;
};

static const struct pattern_rule rules[] = {
    [HOOP_COMM_GATHER] = {"a gather",
                          {COMM_ACTION_ALL_GATHER, COMM_ACTION_SLICE},
                          DIMS_NEEDED_SAME},
    [HOOP_COMM_SPLIT] = {"a split",
                         {COMM_ACTION_SLICE, COMM_ACTION_ALL_GATHER},
                         DIMS_NEEDED_SAME},
    [HOOP_COMM_ALL_TO_ALL] = {"an all-to-all",
                              {COMM_ACTION_ALL_TO_ALL, COMM_ACTION_ALL_TO_ALL},
                              DIMS_NEEDED_DIFFERENT},
    [HOOP_COMM_ALLREDUCE] = {"an allreduce",
                             {COMM_ACTION_ALL_REDUCE, COMM_ACTION_COPY},
                             DIMS_NEEDED_NONE},
    [HOOP_COMM_IDENTITY] = {"an identity",
                            {COMM_ACTION_COPY, COMM_ACTION_ALL_REDUCE},
                            DIMS_NEEDED_NONE},
    [HOOP_COMM_MIX_GATHER] = {"a mix-gather",
                              {COMM_ACTION_ALL_GATHER, COMM_ACTION_SLICE},
                              DIMS_NEEDED_MIX_GATHER},
    [HOOP_COMM_REDUCE_SCATTER] = {"a reduce-scatter",
                                  {COMM_ACTION_REDUCE_SCATTER,
                                   COMM_ACTION_ALL_GATHER},
                                  DIMS_NEEDED_SAME},
};

static enum hoop_status
pattern_rule_find(const struct hoop_comm_spec *spec,
                  const struct pattern_rule **out_rule)
{
    if (!spec)
        return error_raise(HOOP_E_INVALID, "spec is NULL");
    if ((size_t)spec->pattern >= COUNT_OF(rules))
        return error_raise(HOOP_E_INVALID, "pattern %d is not known to hoop",
                           (int)spec->pattern);
    *out_rule = &rules[spec->pattern];
    return HOOP_OK;
}

static enum hoop_status
action_mesh_check(const struct hoop_mesh_shape *mesh)
{
    struct grid grid = {0};

    if (!mesh || mesh->n_axes == 0 || mesh->n_axes > HOOP_MAX_AXES)
        return error_raise(HOOP_E_INVALID, "there is no mesh of 1 to %d axes",
                           HOOP_MAX_AXES);
    for (uint32_t axis = 0; axis < mesh->n_axes; axis++) {
        const enum hoop_status status = grid_add_axis(&grid, mesh->sizes[axis]);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

static enum hoop_status
axes_check_in_mesh(const struct hoop_axes *axes,
                   const struct hoop_mesh_shape *mesh,
                   const char *name)
{
    if (axes->n_axes == 0 || axes->n_axes > HOOP_MAX_AXES)
        return error_raise(HOOP_E_INVALID,
                           "%s needs an axis of the mesh, or all of them",
                           name);
    for (uint32_t i = 0; i < axes->n_axes; i++) {
        if (axes->axes[i] >= mesh->n_axes)
            return error_raise(HOOP_E_INVALID,
                               "%s is along axis %u, but the mesh has %u axes",
                               name, axes->axes[i], mesh->n_axes);
    }
    return HOOP_OK;
}

/* Returns in *out_line the one axis, or all axes in the order of places. */
static enum hoop_status
comm_line_axes_resolve(const struct hoop_axes *axes,
                       const struct hoop_mesh_shape *mesh,
                       const char *name,
                       struct hoop_axes *out_line)
{
    struct hoop_axes line = {.n_axes = mesh->n_axes};
    unsigned seen = 0;

    if (axes->n_axes == 1) {
        *out_line = *axes;
        return HOOP_OK;
    }
    for (uint32_t i = 0; i < axes->n_axes; i++) {
        if (seen & 1U << axes->axes[i])
            return error_raise(HOOP_E_INVALID, "%s has axis %u twice", name,
                               axes->axes[i]);
        seen |= 1U << axes->axes[i];
    }
    if (axes->n_axes != mesh->n_axes)
        return error_raise(HOOP_E_INVALID,
                           "%s is along %u of the mesh's %u axes: name one, or "
                           "all",
                           name, axes->n_axes, mesh->n_axes);
    for (uint32_t axis = 0; axis < mesh->n_axes; axis++)
        line.axes[axis] = axis;
    *out_line = line;
    return HOOP_OK;
}

/* Blocks are numbered along the first of the axes first, so it comes last in
 * the line. */
static enum hoop_status
mix_gather_axes_order(const struct hoop_axes *axes,
                      const struct hoop_mesh_shape *mesh,
                      struct hoop_axes *out_line)
{
    if (mesh->n_axes != 2 || axes->n_axes != 2)
        return error_raise(HOOP_E_INVALID,
                           "a mix-gather has two axes, of a mesh of two, not "
                           "%u of %u",
                           axes->n_axes, mesh->n_axes);
    *out_line = (struct hoop_axes){2, {1 - axes->axes[0], axes->axes[0]}};
    return HOOP_OK;
}

enum hoop_status
comm_action_axes_find(const struct hoop_comm_spec *spec,
                      const struct hoop_mesh_shape *mesh,
                      struct hoop_axes *out_line)
{
    const struct pattern_rule *pattern_rule = NULL;
    enum hoop_status status = pattern_rule_find(spec, &pattern_rule);

    if (status == HOOP_OK)
        status = action_mesh_check(mesh);
    if (status == HOOP_OK)
        status = axes_check_in_mesh(&spec->axes, mesh, pattern_rule->name);
    if (status == HOOP_OK)
        status = pattern_rule->dims_needed == DIMS_NEEDED_MIX_GATHER
                     ? mix_gather_axes_order(&spec->axes, mesh, out_line)
                     : comm_line_axes_resolve(&spec->axes, mesh,
                                              pattern_rule->name, out_line);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* name is that of the pattern, what that of the dimension. */
static enum hoop_status
comm_dim_resolve(const struct hoop_comm_dims *dims,
                 const char *name,
                 const char *what,
                 uint32_t n_dims,
                 uint32_t *out_dim)
{
    const struct hoop_shape shape = {.n_dims = n_dims};

    if (dims->n_dims != 1)
        return error_raise(HOOP_E_INVALID, "%s needs one %s, not %u", name,
                           what, dims->n_dims);
    const enum hoop_status status = shape_dim(&shape, dims->dims[0], out_dim);
    if (status == HOOP_OK)
        return HOOP_OK;
    return error_raise(HOOP_E_INVALID,
                       "%s of %s is %d: there is none in a tensor of %u "
                       "dimensions",
                       what, name, dims->dims[0], n_dims);
}

/* Finds both dimensions. If the spec is forward only and the dimensions must be
 * equal, the one that is not used is taken from the other. */
static enum hoop_status
gather_shard_dims_find(const struct hoop_comm_spec *spec,
                       const struct pattern_rule *pattern_rule,
                       uint32_t n_dims,
                       uint32_t *out_gather,
                       uint32_t *out_shard)
{
    const struct hoop_comm_dims *gather = &spec->gather_dim;
    const struct hoop_comm_dims *shard = &spec->shard_dim;

    if (spec->is_forward_only &&
        pattern_rule->dims_needed == DIMS_NEEDED_SAME) {
        if (pattern_rule->kinds[COMM_ACTION_FORWARD] == COMM_ACTION_ALL_GATHER)
            shard = gather;
        else
            gather = shard;
    }
    enum hoop_status status = comm_dim_resolve(
        gather, pattern_rule->name, "gather_dim", n_dims, out_gather);
    if (status == HOOP_OK)
        status = comm_dim_resolve(shard, pattern_rule->name, "shard_dim",
                                  n_dims, out_shard);
    if (status != HOOP_OK)
        return error_pass(status);
    if (pattern_rule->dims_needed == DIMS_NEEDED_SAME &&
        *out_gather != *out_shard)
        return error_raise(HOOP_E_INVALID,
                           "gather_dim %u and shard_dim %u of %s differ: its "
                           "backward would not lead back",
                           *out_gather, *out_shard, pattern_rule->name);
    return HOOP_OK;
}

/* A mix-gather cuts one dimension by all ranks, or two dimensions by one axis
 * each. */
static enum hoop_status
mix_gather_cuts_find(const struct hoop_comm_spec *spec,
                     const struct hoop_mesh_shape *mesh,
                     uint32_t n_dims,
                     struct cuts *out_cuts)
{
    const struct hoop_shape shape = {.n_dims = n_dims};
    const struct hoop_comm_dims *dims = &spec->gather_dim;
    const uint32_t *axes = spec->axes.axes;
    const bool is_same = axes[0] == axes[1];

    if (dims->n_dims != (is_same ? 1 : 2))
        return error_raise(HOOP_E_INVALID,
                           "a mix-gather along axes %u and %u needs %s, not %u",
                           axes[0], axes[1],
                           is_same ? "one gather_dim" : "two of gather_dim",
                           dims->n_dims);
    struct cuts cuts = {.n_cuts = dims->n_dims};
    for (uint32_t i = 0; i < dims->n_dims; i++) {
        if (shape_dim(&shape, dims->dims[i], &cuts.cuts[i].dim) != HOOP_OK)
            return error_raise(HOOP_E_INVALID,
                               "gather_dim of a mix-gather is %d: there is "
                               "none in a tensor of %u dimensions",
                               dims->dims[i], n_dims);
        cuts.cuts[i].n_parts = mesh->sizes[axes[i]];
    }
    if (is_same)
        cuts.cuts[0].n_parts = mesh->sizes[0] * mesh->sizes[1];
    else if (cuts.cuts[0].dim == cuts.cuts[1].dim)
        return error_raise(HOOP_E_INVALID,
                           "gather_dim of a mix-gather is dim %u twice: say "
                           "it once, and one axis twice",
                           cuts.cuts[0].dim);
    *out_cuts = cuts;
    return HOOP_OK;
}

static struct cuts
cuts_make_single(uint32_t dim, uint32_t n_parts)
{
    return (struct cuts){.n_cuts = 1, .cuts = {{dim, n_parts}}};
}

/* Sets what is cut and joined in the forward. */
static enum hoop_status
comm_action_set_cuts(struct action *action,
                     const struct hoop_comm_spec *spec,
                     const struct pattern_rule *pattern_rule,
                     const struct hoop_mesh_shape *mesh,
                     uint32_t n_dims)
{
    uint32_t gather = 0;
    uint32_t shard = 0;
    enum hoop_status status = HOOP_OK;

    if (pattern_rule->dims_needed == DIMS_NEEDED_MIX_GATHER) {
        status = mix_gather_cuts_find(spec, mesh, n_dims, &action->cut);
        action->join = action->cut;
    } else if (pattern_rule->dims_needed != DIMS_NEEDED_NONE) {
        status =
            gather_shard_dims_find(spec, pattern_rule, n_dims, &gather, &shard);
        action->cut = cuts_make_single(shard, action->n_ranks);
        action->join = cuts_make_single(gather, action->n_ranks);
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
comm_action_init(struct action *action,
                 const struct hoop_comm_spec *spec,
                 const struct hoop_mesh_shape *mesh,
                 uint32_t n_dims,
                 enum comm_action_direction way)
{
    const struct pattern_rule *pattern_rule = NULL;
    enum hoop_status status = pattern_rule_find(spec, &pattern_rule);

    *action = (struct action){.n_ranks = 1};
    if (status == HOOP_OK)
        status = comm_action_axes_find(spec, mesh, &action->line);
    if (status != HOOP_OK)
        return error_pass(status);
    for (uint32_t i = 0; i < action->line.n_axes; i++)
        action->n_ranks *= mesh->sizes[action->line.axes[i]];
    action->kind = pattern_rule->kinds[way];
    status = comm_action_set_cuts(action, spec, pattern_rule, mesh, n_dims);
    if (status != HOOP_OK)
        return error_pass(status);
    if (way == COMM_ACTION_FORWARD)
        return HOOP_OK;
    if (spec->is_forward_only)
        return error_raise(HOOP_E_INVALID,
                           "%s that is forward only has no backward",
                           pattern_rule->name);
    const struct cuts cut = action->cut;
    action->cut = action->join;
    action->join = cut;
    return HOOP_OK;
}

enum hoop_status
comm_action_output_shape(const struct action *action, struct hoop_shape *shape)
{
    size_t count;
    const bool cuts = action->kind == COMM_ACTION_SLICE ||
                      action->kind == COMM_ACTION_REDUCE_SCATTER ||
                      action->kind == COMM_ACTION_ALL_TO_ALL;
    const bool joins = action->kind == COMM_ACTION_ALL_GATHER ||
                       action->kind == COMM_ACTION_ALL_TO_ALL;
    enum hoop_status status = HOOP_OK;

    if (cuts)
        status = cuts_divide_shape(&action->cut, shape);
    if (status == HOOP_OK && joins)
        status = cuts_multiply_shape(&action->join, shape);
    if (status == HOOP_OK)
        status = shape_count(shape, &count);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

uint32_t
comm_action_block_index(const struct action *action,
                        const struct hoop_mesh_shape *mesh,
                        const uint32_t *coordinates)
{
    uint32_t number = 0;

    for (uint32_t i = 0; i < action->line.n_axes; i++) {
        const uint32_t axis = action->line.axes[i];

        number = number * mesh->sizes[axis] + coordinates[axis];
    }
    return number;
}

/* The backward needs no check of its own: where it cuts, it cuts what the
 * forward joined. */
enum hoop_status
hoop_comm_spec_result(const struct hoop_comm_spec *spec,
                      const struct hoop_mesh_shape *mesh,
                      const struct hoop_shape *shape,
                      struct hoop_shape *out_shape)
{
    struct action action;
    size_t count;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    enum hoop_status status = shape_count(shape, &count);
    if (status == HOOP_OK && !out_shape)
        status = error_raise(HOOP_E_INVALID, "out_shape is NULL");
    if (status == HOOP_OK)
        status = comm_action_init(&action, spec, mesh, shape->n_dims,
                                  COMM_ACTION_FORWARD);
    if (status != HOOP_OK)
        return error_pass(status);
    struct hoop_shape result = *shape;
    status = comm_action_output_shape(&action, &result);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_shape = result;
    return HOOP_OK;
}
