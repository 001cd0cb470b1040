/*
 * mesh/tiling.h - a tensor as tiles that the axes of a mesh cut
 *
 * The functions are pure. A tile has a number along each dimension; the axes
 * that cut the dimension write it in mixed radix. If a size does not divide
 * evenly, the first tiles have one element more, and the last ones may have
 * none.
 */

#ifndef MESH_TILING_H
#define MESH_TILING_H

#include "hoop/sharding.h"

#include "mesh/grid.h"

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
size_t
part_n_elements(const struct hoop_part *part);

#endif
