/* mesh/grid.c - places on a grid of several axes, in row-major order */

#include "mesh/grid.h"

#include <assert.h>

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
                struct grid_axes *out_long)
{
    unsigned seen = 0;
    struct grid_axes longer = {0};

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
grid_line_n_places(const struct grid *grid, const struct grid_axes *axes)
{
    uint32_t count = 1;

    for (uint32_t i = 0; i < axes->n_axes; i++)
        count *= grid->sizes[axes->axes[i]];
    return count;
}

uint32_t
grid_line_nth_place(const struct grid *grid,
                    const struct grid_axes *axes,
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
