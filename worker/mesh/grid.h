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
#include "hoop/sharding.h"

struct grid {
    uint32_t n_axes;
    uint32_t sizes[HOOP_MAX_AXES]; /* none is 0 */
    uint32_t n_places;
};

/* Adds an axis.
 * Handle: HOOP_E_INVALID (too many axes, a size of 0, 2^32 places or more). */
enum hoop_status
grid_add_axis(struct grid *grid, uint32_t size);

/* Return the number of places of a mesh that hoop_sharding_check() has
 * accepted, and whether two meshes have the same sizes. */
uint32_t
mesh_shape_n_places(const struct hoop_mesh_shape *mesh);
bool
mesh_shapes_equal(const struct hoop_mesh_shape *one,
                  const struct hoop_mesh_shape *other);

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
                struct hoop_axes *out_long);

/* Return the number of places on a line along axes, and the n-th place of the
 * line through place. */
uint32_t
grid_line_n_places(const struct grid *grid, const struct hoop_axes *axes);
uint32_t
grid_line_nth_place(const struct grid *grid,
                    const struct hoop_axes *axes,
                    uint32_t place,
                    uint32_t n);

/*
 * A tensor as tiles that the axes of a mesh cut. A tile has a number along
 * each dimension; the axes that cut the dimension write it in mixed radix. If
 * a size does not divide evenly, the first tiles have one element more, and
 * the last ones may have none.
 */

struct tiling {
    struct grid grid;
    struct hoop_shape shape;
    struct hoop_axes cuts[HOOP_MAX_DIMS];
    uint32_t n_tiles[HOOP_MAX_DIMS]; /* along each dimension */
    unsigned cutting;                /* bit of each axis that cuts */
};

struct tile {
    uint32_t numbers[HOOP_MAX_DIMS];
    struct hoop_part part;
};

/* Of n tiles of size elements: return the size of tile i, its offset, and the
 * tile that has element at, which is below size. */
size_t
tile_size(size_t size, uint32_t n, uint32_t i);
size_t
tile_offset(size_t size, uint32_t n, uint32_t i);
uint32_t
tile_index_of_element(size_t size, uint32_t n, size_t at);

/* Initialises a tiling. The arguments have passed hoop_sharding_check(). */
void
tiling_init(struct tiling *tiling,
            const struct hoop_sharding *sharding,
            const struct hoop_mesh_shape *mesh,
            const struct hoop_shape *shape);

/* Finds the tile of the place at coordinates. */
void
tiling_tile_at(const struct tiling *tiling,
               const uint32_t coordinates[HOOP_MAX_AXES],
               struct tile *out_tile);

/* Returns the number of elements of the largest tile, which is the first. */
size_t
tiling_largest_tile(const struct tiling *tiling);

/* Computes the intersection of two parts. Returns false and leaves *out_both as
 * it was if it is empty. */
bool
part_intersect(const struct hoop_part *one,
               const struct hoop_part *other,
               struct hoop_part *out_both);
/* Returns part with its offset inside base, which contains it. */
struct hoop_part
part_within(const struct hoop_part *part, const struct hoop_part *base);

/* Return the number of elements of a shape that has been checked, and of a
 * part. */
size_t
shape_n_elements(const struct hoop_shape *shape);
size_t
part_n_elements(const struct hoop_part *part);

#endif
