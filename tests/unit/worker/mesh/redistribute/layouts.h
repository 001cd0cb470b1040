/* tests/unit/worker/mesh/redistribute/layouts.h - all layouts over a mesh */

#ifndef TESTS_PARALLEL_LAYOUTS_H
#define TESTS_PARALLEL_LAYOUTS_H

#include "hoop/redistribute.h"
#include "hoop/sharding.h"

enum {
    LAYOUTS_MAX = 256
};

/* Lists every sharding of a tensor of n_dims, with addends too. Each axis
 * occurs at most once, and all orders are listed. op reduces the addends.
 * Returns how many there are. */
uint32_t
layouts_list(const struct hoop_mesh_shape *mesh,
             uint32_t n_dims,
             enum hoop_reduce_op op,
             struct hoop_sharding layouts[LAYOUTS_MAX]);

/* One step along some axes changes this in a layout. */
struct layouts_step {
    enum hoop_step_kind kind;
    struct hoop_axes axes;
    uint32_t gather_dim;
    uint32_t shard_dim;
};

/* Returns whether one step leads from a to b, judging by their difference. All
 * sizes must divide evenly. */
bool
layouts_step(const struct hoop_sharding *a,
             const struct hoop_sharding *b,
             struct layouts_step *out_step);

uint32_t
layouts_places(const struct hoop_mesh_shape *mesh);

#endif
