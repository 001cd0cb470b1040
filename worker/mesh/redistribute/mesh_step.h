/*
 * mesh/redistribute/mesh_step.h - how one step along lines of a mesh changes a
 * sharding
 *
 * The functions are pure. Axes are appended to the list of a dimension and
 * removed from its end; several that are removed together keep their order.
 */

#ifndef MESH_REDISTRIBUTE_MESH_STEP_H
#define MESH_REDISTRIBUTE_MESH_STEP_H

#include "mesh/redistribute/redistribution.h"

enum mesh_step_reductions {
    MESH_STEP_REDUCTIONS_ANY,
    /* All axes are reduced in one step. A mean of integers is truncated, and a
     * mean of means would be truncated twice. */
    MESH_STEP_REDUCTIONS_AT_ONCE,
};

struct mesh_step_rules {
    struct hoop_mesh_shape mesh;
    struct hoop_shape shape;
    unsigned cutting; /* bit of each axis that may cut */
    unsigned reduced; /* bit of each partial axis that is to be reduced */
    /* bit of each axis along which ranks may take each other's elements */
    unsigned gathered;
    enum mesh_step_reductions reductions;
    uint32_t n_axes_per_step_max; /* largest number of axes in one step */
};

enum {
    /* Each axis can go to each dimension or be reduced. */
    MESH_STEPS_MAX = HOOP_MAX_AXES * (HOOP_MAX_DIMS + 1) + 1
};

/* Lists all possible steps on lines, always in the same order, without their
 * algorithms and times. Steps whose parts would differ in size along a line are
 * left out, but for slices. Returns their number. */
uint32_t
mesh_steps_enumerate(const struct mesh_step_rules *rules,
                     const struct hoop_sharding *sharding,
                     struct redistribution_step steps[MESH_STEPS_MAX]);

/* Returns the canonical form of a layout: without axes of size 1, partial axes
 * ascending, is_uneven only if parts differ in size. */
struct hoop_sharding
sharding_canonical(const struct hoop_sharding *sharding,
                   const struct hoop_mesh_shape *mesh,
                   const struct hoop_shape *shape);

/* Returns a number that identifies the layout: 7 bits for each axis say where
 * it is. The order of partial axes does not count. */
uint64_t
sharding_key(const struct hoop_sharding *sharding);

/* Returns the number of elements of the largest part. */
size_t
sharding_largest_part(const struct hoop_sharding *sharding,
                      const struct hoop_mesh_shape *mesh,
                      const struct hoop_shape *shape);

#endif
