/*
 * parallel/mesh_step.h - what one step on the lines of a mesh makes of a sharding
 *
 * Pure. Axes are appended to the list of a dimension, and leave its end;
 * several that leave together leave in their order.
 */

#ifndef PARALLEL_MESH_STEP_H
#define PARALLEL_MESH_STEP_H

#include "hoop/redistribute.h"
#include "hoop/sharding.h"

#include "parallel/grid.h"

struct mesh_step {
    enum hoop_step_kind kind; /* EXCHANGE, too, of who else takes mesh_steps */
    struct hoop_axes axes;
    uint32_t gather_dim;
    uint32_t shard_dim;
    struct hoop_sharding after;
};

enum mesh_step_reductions {
    MESH_STEP_REDUCTIONS_ANY,
    /* All axes in one mesh_step: means of integers are cut off, which a mean of means
     * would be twice. */
    MESH_STEP_REDUCTIONS_AT_ONCE,
};

struct mesh_step_rules {
    struct hoop_mesh_shape mesh;
    struct hoop_shape shape;
    unsigned cutting;  /* bit of each axis that may cut */
    unsigned reduced;  /* ... that is partial and is to be reduced */
    unsigned gathered; /* ... along which ranks may get each other's elements */
    enum mesh_step_reductions reductions;
    uint32_t n_together; /* axes of one mesh_step at most */
};

enum {
    /* Each axis could go to each dimension, or be reduced. */
    MESH_STEPS_MAX = HOOP_MAX_AXES * (HOOP_MAX_DIMS + 1) + 1
};

/* All that there are, always in the same order; none of a part that would not
 * be as large on all ranks of a line. Returns how many. */
uint32_t
mesh_step_list(const struct mesh_step_rules *rules,
               const struct hoop_sharding *sharding,
               struct mesh_step mesh_steps[MESH_STEPS_MAX]);

/* The same layout, said in one way: no axes of size 1, partial axes ascending,
 * is_uneven where parts are. */
struct hoop_sharding
sharding_plain(const struct hoop_sharding *sharding,
               const struct hoop_mesh_shape *mesh,
               const struct hoop_shape *shape);

/* The other way to say it: where each axis is, in 7 bits. */
uint64_t
sharding_key(const struct hoop_sharding *sharding);

/* A bit for each. */
unsigned
axes_mask(const struct hoop_axes *axes);
/* Of all dimensions. */
unsigned
sharding_cutting(const struct hoop_sharding *sharding);

void
axes_append(struct hoop_axes *axes, uint32_t axis);
/* Those of mask go, the others keep their order. */
void
axes_remove(struct hoop_axes *axes, unsigned mask);
/* The last n. */
struct hoop_axes
axes_last(const struct hoop_axes *axes, uint32_t n);

/* Ranks of a line. */
uint32_t
axes_count(const struct hoop_axes *axes, const struct hoop_mesh_shape *mesh);

#endif
