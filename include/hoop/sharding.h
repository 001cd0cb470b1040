/* hoop/sharding.h - which part of a tensor each rank of a mesh has
 *
 * For each dimension of the tensor, the axes of the mesh that cut it; what no
 * axis cuts is whole on all ranks along it. S01 in ColossalAI's notation is the
 * axes {0, 1}, S10 is {1, 0}: the first counts most. Ranks along the axes of
 * partial hold addends, whose reduction is the tensor.
 *
 * All is arithmetic on the sizes of a mesh: nothing is sent, and all ranks get
 * the same answers and errors. Thread: any.
 */

#ifndef HOOP_SHARDING_H
#define HOOP_SHARDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/dtype.h"
#include "hoop/mesh.h"
#include "hoop/status.h"
#include "hoop/tensor.h"

HOOP_BEGIN

/* Axes of a mesh, the one that counts most first. */
struct hoop_axes {
    uint32_t n_axes;
    uint32_t axes[HOOP_MAX_AXES];
};

/* Zeroed: whole on every rank. ColossalAI's ShardingSpec. */
struct hoop_sharding {
    struct hoop_axes dims[HOOP_MAX_DIMS]; /* of each dimension */
    struct hoop_axes partial;
    enum hoop_reduce_op partial_op; /* says nothing where no axis is partial */
    /* Sizes need not be divisible: the first ranks have one more, some may have
     * nothing. */
    bool is_uneven;
};

/* The sizes of a mesh, without its ranks. A place in it is a number: the last
 * axis varies fastest. */
struct hoop_mesh_shape {
    uint32_t n_axes;
    uint32_t sizes[HOOP_MAX_AXES];
};

/* From offset on, so much of each dimension. */
struct hoop_part {
    size_t offset[HOOP_MAX_DIMS];
    struct hoop_shape shape;
};

/* A mesh's sizes; no axes: mesh is NULL. */
HOOP_API struct hoop_mesh_shape
hoop_mesh_shape_of(const hoop_mesh_t *mesh);

/*
 * Whether the mesh can hold a tensor of shape like that. Handle (this and the
 * next two): HOOP_E_INVALID (NULL; an axis of size 0; a dimension that the
 * tensor has not; an axis that the mesh has not, or that is there twice; a
 * size that is not divisible, unless is_uneven; partial_op), with a text that
 * names dimension, size and axes.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_sharding_check(const struct hoop_sharding *sharding,
                    const struct hoop_mesh_shape *mesh,
                    const struct hoop_shape *shape);

/* The part of the rank at a place. Also HOOP_E_INVALID: there is none. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_sharding_part(const struct hoop_sharding *sharding,
                   const struct hoop_mesh_shape *mesh,
                   const struct hoop_shape *shape,
                   uint32_t place,
                   struct hoop_part *out_part);

/* The caller's part. Also HOOP_E_INVALID: it is not in the mesh. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_sharding_part_here(const struct hoop_sharding *sharding,
                        const hoop_mesh_t *mesh,
                        const struct hoop_shape *shape,
                        struct hoop_part *out_part);

/* The same axes in the same order everywhere, the same is_uneven, and the same
 * operator where an axis is partial. NULL equals nothing. */
HOOP_API bool
hoop_sharding_equal(const struct hoop_sharding *a,
                    const struct hoop_sharding *b);

struct hoop_sharding_text {
    char text[160];
};

/* "[S0, R, S12] partial(3)", "partial(3, max)", "... uneven", of a tensor of
 * n_dims; axes in excess are left out. NULL: "[]". */
HOOP_API struct hoop_sharding_text
hoop_sharding_describe(const struct hoop_sharding *sharding, uint32_t n_dims);

/* How a tensor lies over one group, seen as a mesh whose places are the group's
 * ranks in their order. ColossalAI's _DistSpec. */
struct hoop_group_sharding {
    struct hoop_mesh_shape mesh;
    struct hoop_sharding sharding;
};

/* dims[i] is cut in n_partitions[i] parts; one that is there twice is cut
 * again. */
struct hoop_partitions {
    const int32_t *dims; /* from the last if negative */
    uint32_t n_dims;
    const uint32_t *partitions;
    uint32_t n_partitions; /* as many as n_dims */
};

/* Whole on each of the ranks. ColossalAI's ReplicaSpec().
 * Handle: HOOP_E_INVALID (no ranks, NULL). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_sharding_replica(uint32_t n_ranks, struct hoop_group_sharding *out_spec);

/*
 * Cut over the ranks, the first dimension that is named counting most, for
 * tensors of tensor_n_dims. ColossalAI's ShardSpec(dims, num_partitions).
 *
 * Handle: HOOP_E_INVALID (lists of different lengths or more than
 * HOOP_MAX_AXES, a dimension that such tensors have not, parts whose product is
 * not n_ranks, NULL).
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_sharding_shard(const struct hoop_partitions *partitions,
                    uint32_t tensor_n_dims,
                    uint32_t n_ranks,
                    struct hoop_group_sharding *out_spec);

HOOP_END

#endif
