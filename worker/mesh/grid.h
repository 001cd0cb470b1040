/*
 * mesh/grid.h - places on a grid of several axes, in row-major order
 *
 * The functions are pure. The last axis varies fastest. A line is the set of
 * places that can be reached from one place along some of the axes.
 */

#ifndef MESH_GRID_H
#define MESH_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/mesh.h"

struct grid {
    uint32_t n_axes;
    uint32_t sizes[HOOP_MAX_AXES]; /* none is 0 */
    uint32_t n_places;
};

/* A list of axes, the most significant first. */
struct grid_axes {
    uint32_t n_axes;
    uint32_t axes[HOOP_MAX_AXES];
};

/* Adds an axis.
 * Handle: HOOP_E_INVALID (too many axes, a size of 0, 2^32 places or more). */
enum hoop_status
grid_add_axis(struct grid *grid, uint32_t size);

/* Writes the position of a place on each axis. */
void
grid_coordinates_of_place(const struct grid *grid,
                          uint32_t place,
                          uint32_t coordinates[HOOP_MAX_AXES]);
/* Finds the place at coordinates. Returns false if they are outside the
 * grid. */
bool
grid_place_of_coordinates(const struct grid *grid,
                          const uint32_t *coordinates,
                          uint32_t *out_place);

/* Checks that each axis is one of the grid and occurs once. Writes those longer
 * than one place to *out_long; the others do not distinguish lines.
 * Handle: HOOP_E_INVALID. */
enum hoop_status
grid_axes_check(const struct grid *grid,
                const uint32_t *axes,
                uint32_t n_axes,
                struct grid_axes *out_long);

/* Return the number of places on a line along axes, and the n-th place of the
 * line through place. */
uint32_t
grid_line_n_places(const struct grid *grid, const struct grid_axes *axes);
uint32_t
grid_line_nth_place(const struct grid *grid,
                    const struct grid_axes *axes,
                    uint32_t place,
                    uint32_t n);

#endif
