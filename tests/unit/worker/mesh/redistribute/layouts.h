/* tests/unit/worker/mesh/redistribute/layouts.h - all ways to lay a tensor
 * over a mesh */

#ifndef TESTS_PARALLEL_LAYOUTS_H
#define TESTS_PARALLEL_LAYOUTS_H

#include "hoop/redistribute.h"
#include "hoop/sharding.h"

enum {
    LAYOUTS_MAX = 256
};

/* Every sharding of a tensor of n_dims, addends included, each axis used once
 * at most, in all orders. op is that of addends. Returns how many. */
uint32_t
layouts_list(const struct hoop_mesh_shape *mesh,
             uint32_t n_dims,
             enum hoop_reduce_op op,
             struct hoop_sharding layouts[LAYOUTS_MAX]);

/* What one step on lines makes of a layout. */
struct layouts_step {
    enum hoop_step_kind kind;
    struct hoop_axes axes;
    uint32_t gather_dim;
    uint32_t shard_dim;
};

/* Whether one leads from a to b, told from what differs. Sizes divide. */
bool
layouts_step(const struct hoop_sharding *a,
             const struct hoop_sharding *b,
             struct layouts_step *out_step);

uint32_t
layouts_places(const struct hoop_mesh_shape *mesh);

#endif
