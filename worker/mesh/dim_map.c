/*
 * mesh/dim_map.c - which axes of a mesh cut each dimension of a tensor
 *
 * Both functions check everything first, so they write all or nothing. Then
 * they go over the pairs once and write behind where they read.
 */

#include "hoop/dim_map.h"

#include <stdbool.h>
#include <string.h>

#include "hoop/sharding.h"
#include "hoop/tensor.h"

#include "base/error.h"
#include "tensor/layout.h"

/* Counts a negative dimension from the end. */
static uint32_t
dim_axes_normalized_dim(uint32_t n_dims, const struct hoop_dim_axes *pair)
{
    return (uint32_t)(pair->dim < 0 ? pair->dim + (int32_t)n_dims : pair->dim);
}

static enum hoop_status
dim_axes_check(uint32_t n_dims, const struct hoop_dim_axes *pair)
{
    const int32_t n = (int32_t)n_dims;

    if (pair->dim < -n || pair->dim >= n)
        return error_raise(HOOP_E_INVALID,
                           "a tensor of %u dimensions has no dimension %d",
                           n_dims, pair->dim);
    if (pair->axes.n_axes > HOOP_MAX_AXES)
        return error_raise(HOOP_E_INVALID,
                           "dimension %d has %u axes, a mesh has %d at most",
                           pair->dim, pair->axes.n_axes, HOOP_MAX_AXES);
    return HOOP_OK;
}

static enum hoop_status
dim_map_check(uint32_t n_dims, const struct hoop_dim_map *map)
{
    if (!map || (!map->pairs && map->n_pairs > 0))
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           map ? "map->pairs" : "map");
    if (n_dims > HOOP_MAX_DIMS)
        return error_raise(HOOP_E_INVALID,
                           "%u dimensions, a tensor has %d at most", n_dims,
                           HOOP_MAX_DIMS);
    for (uint32_t i = 0; i < map->n_pairs; i++) {
        const enum hoop_status status = dim_axes_check(n_dims, &map->pairs[i]);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

static enum hoop_status
dim_map_check_axes_per_dim(uint32_t n_dims, const struct hoop_dim_map *map)
{
    uint64_t n_axes[HOOP_MAX_DIMS] = {0};

    for (uint32_t i = 0; i < map->n_pairs; i++)
        n_axes[dim_axes_normalized_dim(n_dims, &map->pairs[i])] +=
            map->pairs[i].axes.n_axes;
    for (uint32_t dim = 0; dim < n_dims; dim++) {
        if (n_axes[dim] > HOOP_MAX_AXES)
            return error_raise(
                HOOP_E_INVALID,
                "dimension %u has %llu axes in all, a mesh has %d at most", dim,
                (unsigned long long)n_axes[dim], HOOP_MAX_AXES);
    }
    return HOOP_OK;
}

/* Returns the pair of dim among the first *n, or a new one after them. */
static struct hoop_dim_axes *
dim_axes_find_or_add(struct hoop_dim_axes *pairs, uint32_t *n, int32_t dim)
{
    for (uint32_t i = 0; i < *n; i++) {
        if (pairs[i].dim == dim)
            return &pairs[i];
    }
    pairs[*n].dim = dim;
    pairs[*n].axes.n_axes = 0;
    return &pairs[(*n)++];
}

/* Gives pair's axes to the pair of dim in the first *n of pairs. */
static void
dim_axes_replace(struct hoop_dim_axes *pairs,
                 uint32_t *n,
                 int32_t dim,
                 const struct hoop_dim_axes *pair)
{
    const struct hoop_dim_axes taken = *pair; /* pair may be overwritten */
    struct hoop_dim_axes *place = dim_axes_find_or_add(pairs, n, dim);

    *place = taken;
    place->dim = dim;
}

enum hoop_status
hoop_dim_map_normalize(uint32_t n_dims, struct hoop_dim_map *map)
{
    /* Pairs whose dimension is counted from the end apply after the others. */
    struct hoop_dim_axes late[HOOP_MAX_DIMS];
    uint32_t n_late = 0;
    uint32_t n_pairs = 0;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    const enum hoop_status status = dim_map_check(n_dims, map);
    if (status != HOOP_OK)
        return error_pass(status);
    for (uint32_t i = 0; i < map->n_pairs; i++) {
        const struct hoop_dim_axes *pair = &map->pairs[i];

        if (pair->dim < 0)
            dim_axes_replace(late, &n_late, pair->dim, pair);
        else
            dim_axes_replace(map->pairs, &n_pairs, pair->dim, pair);
    }
    for (uint32_t i = 0; i < n_late; i++)
        dim_axes_replace(map->pairs, &n_pairs,
                         (int32_t)dim_axes_normalized_dim(n_dims, &late[i]),
                         &late[i]);
    map->n_pairs = n_pairs;
    return HOOP_OK;
}

enum hoop_status
hoop_dim_map_merge(uint32_t n_dims,
                   const struct hoop_dim_map *map,
                   struct hoop_dim_map *out_map)
{
    uint32_t n_pairs = 0;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    enum hoop_status status = dim_map_check(n_dims, map);
    if (status == HOOP_OK)
        status = dim_map_check_axes_per_dim(n_dims, map);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!out_map || (!out_map->pairs && map->n_pairs > 0))
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           out_map ? "out_map->pairs" : "out_map");
    const uint32_t n_given = map->n_pairs; /* map may be out_map */
    for (uint32_t i = 0; i < n_given; i++) {
        const struct hoop_dim_axes pair = map->pairs[i];
        struct hoop_dim_axes *place = dim_axes_find_or_add(
            out_map->pairs, &n_pairs,
            (int32_t)dim_axes_normalized_dim(n_dims, &pair));

        memcpy(&place->axes.axes[place->axes.n_axes], pair.axes.axes,
               pair.axes.n_axes * sizeof(*pair.axes.axes));
        place->axes.n_axes += pair.axes.n_axes;
    }
    out_map->n_pairs = n_pairs;
    return HOOP_OK;
}

/*
 * ColossalAI's ReplicaSpec and ShardSpec.
 *
 * A group that is cut into as many parts as it has ranks is a mesh with one
 * axis for each list entry. ColossalAI numbers parts in mixed radix with the
 * first entry most significant, as a mesh numbers its places.
 */

static enum hoop_status
shard_spec_check_arguments(uint32_t n_ranks,
                           const struct hoop_group_sharding *out_spec)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_spec)
        return error_raise(HOOP_E_INVALID, "out_spec is NULL");
    if (n_ranks == 0)
        return error_raise(HOOP_E_INVALID, "a group has at least one rank");
    return HOOP_OK;
}

enum hoop_status
hoop_sharding_replica(uint32_t n_ranks, struct hoop_group_sharding *out_spec)
{
    const enum hoop_status status =
        shard_spec_check_arguments(n_ranks, out_spec);

    if (status != HOOP_OK)
        return error_pass(status);
    *out_spec = (struct hoop_group_sharding){
        .mesh = {.n_axes = 1, .sizes = {n_ranks}},
    };
    return HOOP_OK;
}

static enum hoop_status
partitions_check_lists(const struct hoop_partitions *partitions)
{
    if (!partitions || !partitions->dims || !partitions->partitions)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           !partitions         ? "partitions"
                           : !partitions->dims ? "partitions->dims"
                                               : "partitions->partitions");
    if (partitions->n_dims != partitions->n_partitions)
        return error_raise(HOOP_E_INVALID,
                           "%u dims, but %u partitions: each dim is cut in so "
                           "many parts",
                           partitions->n_dims, partitions->n_partitions);
    if (partitions->n_dims == 0 || partitions->n_dims > HOOP_MAX_AXES)
        return error_raise(HOOP_E_INVALID, "%u dims are cut, not 1 to %d",
                           partitions->n_dims, HOOP_MAX_AXES);
    return HOOP_OK;
}

/* The product of all partitions must be n_ranks. */
static enum hoop_status
partitions_check_product(const struct hoop_partitions *partitions,
                         uint32_t n_ranks)
{
    uint64_t product = 1;

    for (uint32_t i = 0; i < partitions->n_dims; i++) {
        product *= partitions->partitions[i];
        /* A product of 0 stays 0, and one that is too large stays too large. */
        if (product == 0 || product > n_ranks)
            break;
    }
    if (product == n_ranks)
        return HOOP_OK;
    return error_raise(HOOP_E_INVALID,
                       "the partitions' product is not the group's %u ranks: "
                       "each rank has one part",
                       n_ranks);
}

enum hoop_status
hoop_sharding_shard(const struct hoop_partitions *partitions,
                    uint32_t tensor_n_dims,
                    uint32_t n_ranks,
                    struct hoop_group_sharding *out_spec)
{
    const struct hoop_shape shape = {.n_dims = tensor_n_dims};
    struct hoop_group_sharding spec = {.mesh = {.n_axes = 0}};
    size_t count;
    enum hoop_status status = shard_spec_check_arguments(n_ranks, out_spec);

    if (status == HOOP_OK)
        status = partitions_check_lists(partitions);
    if (status == HOOP_OK)
        status = partitions_check_product(partitions, n_ranks);
    if (status == HOOP_OK)
        status = shape_count(&shape, &count);
    for (uint32_t i = 0; status == HOOP_OK && i < partitions->n_dims; i++) {
        uint32_t dim;

        status = shape_dim(&shape, partitions->dims[i], &dim);
        if (status == HOOP_OK) {
            struct hoop_axes *axes = &spec.sharding.dims[dim];

            axes->axes[axes->n_axes++] = i;
            spec.mesh.sizes[spec.mesh.n_axes++] = partitions->partitions[i];
        }
    }
    if (status != HOOP_OK)
        return error_pass(status);
    *out_spec = spec;
    return HOOP_OK;
}
