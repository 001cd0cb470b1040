/* mesh/grid.c - places on a grid of several axes, in row-major order */

#include "mesh/grid.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"

enum hoop_status
grid_add_axis(struct grid *grid, uint32_t size)
{
    const uint32_t n_before = grid->n_axes > 0 ? grid->n_places : 1;
    uint32_t n_places;

    if (grid->n_axes == HOOP_MAX_AXES)
        return error_raise(HOOP_E_INVALID, "more than %d axes", HOOP_MAX_AXES);
    if (size == 0)
        return error_raise(HOOP_E_INVALID, "axis %u has size 0", grid->n_axes);
    if (__builtin_mul_overflow(n_before, size, &n_places))
        return error_raise(HOOP_E_INVALID,
                           "axis %u of size %u makes more than 2^32 places",
                           grid->n_axes, size);
    grid->sizes[grid->n_axes++] = size;
    grid->n_places = n_places;
    return HOOP_OK;
}

uint32_t
mesh_shape_n_places(const struct hoop_mesh_shape *mesh)
{
    uint32_t n_places = 1;

    for (uint32_t axis = 0; axis < mesh->n_axes; axis++)
        n_places *= mesh->sizes[axis];
    return n_places;
}

bool
mesh_shapes_equal(const struct hoop_mesh_shape *one,
                  const struct hoop_mesh_shape *other)
{
    return one->n_axes == other->n_axes &&
           memcmp(one->sizes, other->sizes,
                  one->n_axes * sizeof(*one->sizes)) == 0;
}

void
grid_coordinates_of_place(const struct grid *grid,
                          uint32_t place,
                          uint32_t coordinates[HOOP_MAX_AXES])
{
    assert(place < grid->n_places);
    for (uint32_t axis = grid->n_axes; axis > 0; axis--) {
        coordinates[axis - 1] = place % grid->sizes[axis - 1];
        place /= grid->sizes[axis - 1];
    }
}

bool
grid_place_of_coordinates(const struct grid *grid,
                          const uint32_t *coordinates,
                          uint32_t *out_place)
{
    uint32_t place = 0;

    for (uint32_t axis = 0; axis < grid->n_axes; axis++) {
        if (coordinates[axis] >= grid->sizes[axis])
            return false;
        place = place * grid->sizes[axis] + coordinates[axis];
    }
    *out_place = place;
    return true;
}

enum hoop_status
grid_axes_check(const struct grid *grid,
                const uint32_t *axes,
                uint32_t n_axes,
                struct hoop_axes *out_long)
{
    unsigned seen = 0;
    struct hoop_axes longer = {0};

    for (uint32_t i = 0; i < n_axes; i++) {
        if (axes[i] >= grid->n_axes)
            return error_raise(HOOP_E_INVALID,
                               "axis %u is not one of the mesh's %u", axes[i],
                               grid->n_axes);
        if (seen & 1U << axes[i])
            return error_raise(HOOP_E_INVALID, "axis %u is there twice",
                               axes[i]);
        seen |= 1U << axes[i];
        if (grid->sizes[axes[i]] > 1)
            longer.axes[longer.n_axes++] = axes[i];
    }
    *out_long = longer;
    return HOOP_OK;
}

uint32_t
grid_line_n_places(const struct grid *grid, const struct hoop_axes *axes)
{
    uint32_t count = 1;

    for (uint32_t i = 0; i < axes->n_axes; i++)
        count *= grid->sizes[axes->axes[i]];
    return count;
}

uint32_t
grid_line_nth_place(const struct grid *grid,
                    const struct hoop_axes *axes,
                    uint32_t place,
                    uint32_t n)
{
    uint32_t coordinates[HOOP_MAX_AXES];

    assert(n < grid_line_n_places(grid, axes));
    grid_coordinates_of_place(grid, place, coordinates);
    for (uint32_t i = axes->n_axes; i > 0; i--) {
        const uint32_t axis = axes->axes[i - 1];

        coordinates[axis] = n % grid->sizes[axis];
        n /= grid->sizes[axis];
    }
    const bool is_place = grid_place_of_coordinates(grid, coordinates, &place);
    assert(is_place);
    return is_place ? place : 0;
}

/* A tensor as tiles that the axes of a mesh cut. */

size_t
tile_size(size_t size, uint32_t n, uint32_t i)
{
    return size / n + (i < size % n ? 1 : 0);
}

size_t
tile_offset(size_t size, uint32_t n, uint32_t i)
{
    return size / n * i + (i < size % n ? i : size % n);
}

uint32_t
tile_index_of_element(size_t size, uint32_t n, size_t at)
{
    const size_t quotient = size / n;
    const size_t n_longer = size % n;

    assert(at < size);
    /* Longer tiles, with one element more, come first. */
    if (at < n_longer * (quotient + 1))
        return (uint32_t)(at / (quotient + 1));
    return (uint32_t)((at - n_longer) / quotient);
}

void
tiling_init(struct tiling *tiling,
            const struct hoop_sharding *sharding,
            const struct hoop_mesh_shape *mesh,
            const struct hoop_shape *shape)
{
    *tiling = (struct tiling){.shape = *shape};
    for (uint32_t axis = 0; axis < mesh->n_axes; axis++) {
        const enum hoop_status status =
            grid_add_axis(&tiling->grid, mesh->sizes[axis]);

        assert(status == HOOP_OK);
        (void)status;
    }
    for (uint32_t dim = 0; dim < HOOP_MAX_DIMS; dim++) {
        const struct hoop_axes *axes = &sharding->dims[dim];

        tiling->n_tiles[dim] = 1;
        tiling->cuts[dim] = *axes;
        for (uint32_t i = 0; i < axes->n_axes; i++) {
            tiling->n_tiles[dim] *= mesh->sizes[axes->axes[i]];
            tiling->cutting |= 1U << axes->axes[i];
        }
    }
}

void
tiling_tile_at(const struct tiling *tiling,
               const uint32_t coordinates[HOOP_MAX_AXES],
               struct tile *out_tile)
{
    const struct hoop_shape *shape = &tiling->shape;

    *out_tile = (struct tile){.part.shape.n_dims = shape->n_dims};
    for (uint32_t dim = 0; dim < shape->n_dims; dim++) {
        const struct hoop_axes *axes = &tiling->cuts[dim];
        const uint32_t n = tiling->n_tiles[dim];
        uint32_t number = 0;

        for (uint32_t i = 0; i < axes->n_axes; i++)
            number = number * tiling->grid.sizes[axes->axes[i]] +
                     coordinates[axes->axes[i]];
        out_tile->numbers[dim] = number;
        out_tile->part.offset[dim] = tile_offset(shape->dims[dim], n, number);
        out_tile->part.shape.dims[dim] = tile_size(shape->dims[dim], n, number);
    }
}

size_t
tiling_largest_tile(const struct tiling *tiling)
{
    size_t count = 1;

    for (uint32_t dim = 0; dim < tiling->shape.n_dims; dim++)
        count *= tile_size(tiling->shape.dims[dim], tiling->n_tiles[dim], 0);
    return count;
}

bool
part_intersect(const struct hoop_part *one,
               const struct hoop_part *other,
               struct hoop_part *out_both)
{
    struct hoop_part both = {.shape.n_dims = one->shape.n_dims};

    for (uint32_t dim = 0; dim < one->shape.n_dims; dim++) {
        const size_t end_one = one->offset[dim] + one->shape.dims[dim];
        const size_t end_other = other->offset[dim] + other->shape.dims[dim];
        const size_t end = end_one < end_other ? end_one : end_other;

        both.offset[dim] = one->offset[dim] > other->offset[dim]
                               ? one->offset[dim]
                               : other->offset[dim];
        if (both.offset[dim] >= end)
            return false;
        both.shape.dims[dim] = end - both.offset[dim];
    }
    *out_both = both;
    return true;
}

struct hoop_part
part_within(const struct hoop_part *part, const struct hoop_part *base)
{
    struct hoop_part within = *part;

    for (uint32_t dim = 0; dim < part->shape.n_dims; dim++)
        within.offset[dim] -= base->offset[dim];
    return within;
}

size_t
shape_n_elements(const struct hoop_shape *shape)
{
    size_t count = 1;

    for (uint32_t dim = 0; dim < shape->n_dims; dim++)
        count *= shape->dims[dim];
    return count;
}

size_t
part_n_elements(const struct hoop_part *part)
{
    return shape_n_elements(&part->shape);
}
