/*
 * mesh/shard_spec.c - ColossalAI's ReplicaSpec and ShardSpec
 *
 * A group that is cut into as many parts as it has ranks is a mesh with one
 * axis for each list entry. ColossalAI numbers parts in mixed radix with the
 * first entry most significant, as a mesh numbers its places.
 */

#include "hoop/sharding.h"

#include "base/error.h"
#include "tensor/shape.h"

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
