/* hoop/dim_map.h - which axes of a mesh each dimension of a tensor is cut by
 *
 * A map is a list of pairs: a dimension, and the axes that cut it, the one that
 * counts most first. Dimensions may be counted from the last, which is -1, and
 * pairs of one dimension may stand there more than once; the two functions make
 * one pair of them, each in its way. ColossalAI's dim_partition_dict, where a
 * key stands once and order is that of insertion. What comes out can be put,
 * pair by pair, into a struct hoop_sharding.
 *
 * Pure: only the caller's memory is touched. What a mesh has, and whether an
 * axis cuts twice, is for who uses the map. Thread: any.
 */

#ifndef HOOP_DIM_MAP_H
#define HOOP_DIM_MAP_H

#include <stdint.h>

#include "hoop/api.h"
#include "hoop/sharding.h"
#include "hoop/status.h"

HOOP_BEGIN

struct hoop_dim_axes {
    int32_t dim; /* from the last if negative */
    struct hoop_axes axes;
};

/* Both the struct and what it points to are the caller's. */
struct hoop_dim_map {
    uint32_t n_pairs;
    struct hoop_dim_axes *pairs;
};

/*
 * Count all dimensions of a tensor of n_dims from the first, in place. A pair
 * that was counted from the last goes to the end; where its dimension is there
 * already, it overwrites that one's axes in their place. Pairs that were the
 * same before: the later overwrites. (2, {1:[0], -1:[1]}) becomes {1:[1]},
 * (3, {0:[1], -2:[0]}) becomes {0:[1], 1:[0]}. convert_dim_partition_dict().
 *
 * Handle (both): HOOP_E_INVALID, and then nothing is written: NULL, more
 * than HOOP_MAX_DIMS dimensions, a dimension that a tensor of n_dims has not,
 * a pair of more than HOOP_MAX_AXES axes.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_dim_map_normalize(uint32_t n_dims, struct hoop_dim_map *map);

/*
 * Count all dimensions from the first, and join the axes of one dimension in
 * the order in which they stand there; the dimensions stay in the order of
 * their first pair. (2, {1:[0], -1:[1]}) and (2, {1:[0], 1:[1]}) become
 * {1:[0, 1]}. merge_same_dim_mesh_list().
 *
 * map is not changed. out_map->pairs has room for as many as map has, and may
 * be map's; n_pairs is written. Handle: also HOOP_E_INVALID for a dimension
 * that would have more than HOOP_MAX_AXES axes.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_dim_map_merge(uint32_t n_dims,
                   const struct hoop_dim_map *map,
                   struct hoop_dim_map *out_map);

HOOP_END

#endif
