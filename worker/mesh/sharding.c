/*
 * mesh/sharding.c - which part of a tensor each rank of a mesh has
 *
 * The coordinates along the axes that cut a dimension are a number in mixed
 * radix: the number of the part along it. The part's offset and size follow
 * from that number, whether parts are equal or balanced.
 */

#include "mesh/sharding.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "hoop/sharding.h"

#include "base/error.h"
#include "dtype/dtype.h"
#include "mesh/grid.h"
#include "tensor/layout.h"

unsigned
axes_mask(const struct hoop_axes *axes)
{
    unsigned mask = 0;

    for (uint32_t i = 0; i < axes->n_axes; i++)
        mask |= 1U << axes->axes[i];
    return mask;
}

unsigned
sharding_cut_axes_mask(const struct hoop_sharding *sharding)
{
    unsigned mask = 0;

    for (uint32_t dim = 0; dim < HOOP_MAX_DIMS; dim++)
        mask |= axes_mask(&sharding->dims[dim]);
    return mask;
}

void
axes_append(struct hoop_axes *axes, uint32_t axis)
{
    assert(axes->n_axes < HOOP_MAX_AXES);
    axes->axes[axes->n_axes++] = axis;
}

void
axes_remove(struct hoop_axes *axes, unsigned mask)
{
    struct hoop_axes left = {0};

    for (uint32_t i = 0; i < axes->n_axes; i++) {
        if (!(mask & 1U << axes->axes[i]))
            axes_append(&left, axes->axes[i]);
    }
    *axes = left;
}

struct hoop_axes
axes_last(const struct hoop_axes *axes, uint32_t n)
{
    struct hoop_axes last = {0};

    for (uint32_t i = axes->n_axes - n; i < axes->n_axes; i++)
        axes_append(&last, axes->axes[i]);
    return last;
}

uint32_t
axes_n_ranks(const struct hoop_axes *axes, const struct hoop_mesh_shape *mesh)
{
    uint32_t count = 1;

    for (uint32_t i = 0; i < axes->n_axes; i++)
        count *= mesh->sizes[axes->axes[i]];
    return count;
}

/*
 * A sharding in ColossalAI's notation.
 *
 * Axes are digits, since a mesh has few; an axis that no mesh has is "?".
 */

static uint32_t
axes_n_printed(const struct hoop_axes *axes)
{
    return axes->n_axes < HOOP_MAX_AXES ? axes->n_axes : HOOP_MAX_AXES;
}

static char
axis_digit(uint32_t axis)
{
    return axis < HOOP_MAX_AXES ? (char)('0' + axis) : '?';
}

struct axes_text
axes_text(const struct hoop_axes *axes)
{
    struct axes_text text = {.text = "R"};

    for (uint32_t i = 0; i < axes_n_printed(axes); i++) {
        text.text[0] = 'S';
        text.text[1 + i] = axis_digit(axes->axes[i]);
    }
    return text;
}

struct dim_text
dim_text(uint32_t dim)
{
    struct dim_text text;

    snprintf(text.text, sizeof(text.text), "dim %u", dim);
    return text;
}

/* Appends more, truncated if it does not fit. */
static void
sharding_text_append(struct hoop_sharding_text *text, const char *more)
{
    const size_t at = strlen(text->text);

    snprintf(text->text + at, sizeof(text->text) - at, "%s", more);
}

static void
sharding_text_append_partial(struct hoop_sharding_text *text,
                             const struct hoop_sharding *sharding)
{
    const struct axes_text axes = axes_text(&sharding->partial);

    sharding_text_append(text, " partial(");
    sharding_text_append(text, axes.text + 1);
    if (sharding->partial_op != HOOP_SUM) {
        sharding_text_append(text, ", ");
        sharding_text_append(text, reduce_op_name(sharding->partial_op));
    }
    sharding_text_append(text, ")");
}

struct hoop_sharding_text
hoop_sharding_describe(const struct hoop_sharding *sharding, uint32_t n_dims)
{
    struct hoop_sharding_text text = {.text = "["};

    for (uint32_t i = 0; sharding && i < n_dims && i < HOOP_MAX_DIMS; i++) {
        sharding_text_append(&text, i == 0 ? "" : ", ");
        sharding_text_append(&text, axes_text(&sharding->dims[i]).text);
    }
    sharding_text_append(&text, "]");
    if (sharding && sharding->partial.n_axes > 0)
        sharding_text_append_partial(&text, sharding);
    if (sharding && sharding->is_uneven)
        sharding_text_append(&text, " uneven");
    return text;
}

bool
axes_equal(const struct hoop_axes *a, const struct hoop_axes *b)
{
    return a->n_axes == b->n_axes &&
           memcmp(a->axes, b->axes, axes_n_printed(a) * sizeof(*a->axes)) == 0;
}

bool
hoop_sharding_equal(const struct hoop_sharding *a,
                    const struct hoop_sharding *b)
{
    if (!a || !b || a->is_uneven != b->is_uneven)
        return false;
    for (uint32_t i = 0; i < HOOP_MAX_DIMS; i++) {
        if (!axes_equal(&a->dims[i], &b->dims[i]))
            return false;
    }
    return axes_equal(&a->partial, &b->partial) &&
           (a->partial.n_axes == 0 || a->partial_op == b->partial_op);
}

struct hoop_mesh_shape
hoop_mesh_shape_of(const hoop_mesh_t *mesh)
{
    struct hoop_mesh_shape shape = {.n_axes = hoop_mesh_n_axes(mesh)};

    for (uint32_t axis = 0; axis < shape.n_axes; axis++)
        shape.sizes[axis] = hoop_mesh_axis_size(mesh, axis);
    return shape;
}

static enum hoop_status
grid_from_mesh_shape(const struct hoop_mesh_shape *mesh, struct grid *out_grid)
{
    struct grid grid = {0};

    if (!mesh || mesh->n_axes == 0)
        return error_raise(HOOP_E_INVALID,
                           mesh ? "the mesh has no axes" : "mesh is NULL");
    for (uint32_t axis = 0; axis < mesh->n_axes; axis++) {
        /* Sizes above HOOP_MAX_AXES are not read; grid_add_axis() rejects
         * them. */
        const uint32_t size = axis < HOOP_MAX_AXES ? mesh->sizes[axis] : 1;
        const enum hoop_status status = grid_add_axis(&grid, size);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    *out_grid = grid;
    return HOOP_OK;
}

/* what names the list in error texts: "dim 2" or "partial". */
static enum hoop_status
sharding_check_axes(const struct hoop_axes *axes,
                    const struct grid *grid,
                    const char *what,
                    unsigned *seen)
{
    if (axes->n_axes > HOOP_MAX_AXES)
        return error_raise(HOOP_E_INVALID, "%s names %u axes, more than %d",
                           what, axes->n_axes, HOOP_MAX_AXES);
    for (uint32_t i = 0; i < axes->n_axes; i++) {
        const uint32_t axis = axes->axes[i];

        if (axis >= grid->n_axes)
            return error_raise(HOOP_E_INVALID,
                               "%s names axis %u, but the mesh has %u axes, "
                               "numbered from 0",
                               what, axis, grid->n_axes);
        if (*seen & 1U << axis)
            return error_raise(HOOP_E_INVALID,
                               "%s names axis %u, which is there already: an "
                               "axis cuts once",
                               what, axis);
        *seen |= 1U << axis;
    }
    return HOOP_OK;
}

static enum hoop_status
sharding_check_dim(const struct hoop_sharding *sharding,
                   const struct grid *grid,
                   const struct hoop_shape *shape,
                   uint32_t dim)
{
    const struct hoop_axes *axes = &sharding->dims[dim];

    if (dim >= shape->n_dims)
        return error_raise(HOOP_E_INVALID,
                           "dim %u is cut, but the tensor has %u dimensions",
                           dim, shape->n_dims);
    const uint32_t n_parts = grid_line_n_places(grid, axes);
    if (sharding->is_uneven || shape->dims[dim] % n_parts == 0)
        return HOOP_OK;
    return error_raise(HOOP_E_INVALID,
                       "%zu elements along dim %u cannot be cut into %u equal "
                       "parts, as %s wants: choose other axes, or is_uneven",
                       shape->dims[dim], dim, n_parts, axes_text(axes).text);
}

static enum hoop_status
sharding_check_partial_op(const struct hoop_sharding *sharding)
{
    switch (sharding->partial_op) {
    case HOOP_SUM:
    case HOOP_PRODUCT:
    case HOOP_MIN:
    case HOOP_MAX:
    case HOOP_BOR:
    case HOOP_BAND:
    case HOOP_BXOR:
    case HOOP_AVG:
        return HOOP_OK;
    }
    return error_raise(HOOP_E_INVALID, "partial_op %d is not known to hoop",
                       (int)sharding->partial_op);
}

static enum hoop_status
sharding_check_all_dims(const struct hoop_sharding *sharding,
                        const struct grid *grid,
                        const struct hoop_shape *shape)
{
    unsigned seen = 0;
    enum hoop_status status = HOOP_OK;

    for (uint32_t dim = 0; dim < HOOP_MAX_DIMS; dim++) {
        if (sharding->dims[dim].n_axes == 0)
            continue;
        status = sharding_check_axes(&sharding->dims[dim], grid,
                                     dim_text(dim).text, &seen);
        if (status == HOOP_OK)
            status = sharding_check_dim(sharding, grid, shape, dim);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    if (sharding->partial.n_axes > 0) {
        status =
            sharding_check_axes(&sharding->partial, grid, "partial", &seen);
        if (status == HOOP_OK)
            status = sharding_check_partial_op(sharding);
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Checks all arguments but the output. */
static enum hoop_status
sharding_check_arguments(const struct hoop_sharding *sharding,
                         const struct hoop_mesh_shape *mesh,
                         const struct hoop_shape *shape,
                         struct grid *out_grid)
{
    size_t count;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!sharding)
        return error_raise(HOOP_E_INVALID, "sharding is NULL");
    enum hoop_status status = grid_from_mesh_shape(mesh, out_grid);
    if (status == HOOP_OK)
        status = shape_count(shape, &count);
    if (status == HOOP_OK)
        status = sharding_check_all_dims(sharding, out_grid, shape);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_sharding_check(const struct hoop_sharding *sharding,
                    const struct hoop_mesh_shape *mesh,
                    const struct hoop_shape *shape)
{
    struct grid grid;
    const enum hoop_status status =
        sharding_check_arguments(sharding, mesh, shape, &grid);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_sharding_part(const struct hoop_sharding *sharding,
                   const struct hoop_mesh_shape *mesh,
                   const struct hoop_shape *shape,
                   uint32_t place,
                   struct hoop_part *out_part)
{
    uint32_t at[HOOP_MAX_AXES];
    struct tiling tiling;
    struct tile tile;
    struct grid grid;
    const enum hoop_status status =
        sharding_check_arguments(sharding, mesh, shape, &grid);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!out_part)
        return error_raise(HOOP_E_INVALID, "out_part is NULL");
    if (place >= grid.n_places)
        return error_raise(HOOP_E_INVALID,
                           "there is no place %u in a mesh of %u ranks", place,
                           grid.n_places);
    tiling_init(&tiling, sharding, mesh, shape);
    grid_coordinates_of_place(&grid, place, at);
    tiling_tile_at(&tiling, at, &tile);
    *out_part = tile.part;
    return HOOP_OK;
}

enum hoop_status
hoop_sharding_part_here(const struct hoop_sharding *sharding,
                        const hoop_mesh_t *mesh,
                        const struct hoop_shape *shape,
                        struct hoop_part *out_part)
{
    const struct hoop_mesh_shape sizes = hoop_mesh_shape_of(mesh);
    uint32_t place = 0;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!mesh)
        return error_raise(HOOP_E_INVALID, "mesh is NULL");
    for (uint32_t axis = 0; axis < sizes.n_axes; axis++) {
        const uint32_t at = hoop_mesh_coordinate(mesh, axis);

        if (at == HOOP_NO_RANK)
            return error_raise(HOOP_E_INVALID,
                               "this process is not in the mesh: it has no "
                               "part");
        place = place * sizes.sizes[axis] + at;
    }
    const enum hoop_status status =
        hoop_sharding_part(sharding, &sizes, shape, place, out_part);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
