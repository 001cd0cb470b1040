/* parallel/grid.h - places on a grid of several axes, in row-major order
 *
 * Pure: the last axis varies fastest. A line is what one place reaches along
 * some of the axes.
 */

#ifndef PARALLEL_GRID_H
#define PARALLEL_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/mesh.h"

struct grid {
    uint32_t n_axes;
    uint32_t sizes[HOOP_MAX_AXES]; /* none is 0 */
    uint32_t n_places;
};

/* Which axes, the most significant first. */
struct grid_axes {
    uint32_t n_axes;
    uint32_t axes[HOOP_MAX_AXES];
};

/* Adds an axis. Handle: HOOP_E_INVALID (one too many, a size of 0, 2^32 places
 * or more). */
enum hoop_status
grid_extend(struct grid *grid, uint32_t size);

/* Of a place, where it is on each axis. */
void
grid_coordinates(const struct grid *grid,
                 uint32_t place,
                 uint32_t coordinates[HOOP_MAX_AXES]);
/* The place; false: there is none with these coordinates. */
bool
grid_place(const struct grid *grid,
           const uint32_t *coordinates,
           uint32_t *out_place);

/* Each is one of the grid, once. What is longer than one place is written to
 * *out_long: only that tells lines apart. Handle: HOOP_E_INVALID. */
enum hoop_status
grid_axes_check(const struct grid *grid,
                const uint32_t *axes,
                uint32_t n_axes,
                struct grid_axes *out_long);

/* Places on a line along axes, and the n-th of that through place. */
uint32_t
grid_line_count(const struct grid *grid, const struct grid_axes *axes);
uint32_t
grid_line_place(const struct grid *grid,
                const struct grid_axes *axes,
                uint32_t place,
                uint32_t n);

#endif
