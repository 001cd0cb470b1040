/*
 * tests/integration/mesh/sharding_model.h - all ways a small tensor may lie
 * over a mesh
 *
 * And, element by element, what that means: shares no code with the library.
 * The element at place i of the whole tensor is sharding_model_value(i).
 */

#ifndef TESTS_INTEGRATION_SHARDING_MODEL_H
#define TESTS_INTEGRATION_SHARDING_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/sharding.h"

enum {
    SHARDING_MODEL_MAX = 32, /* of a mesh of two axes, and three dimensions */
    SHARDING_MODEL_ELEMENTS_MAX = 576,
};

/* Every axis of a mesh of two leaves the tensor whole, cuts a dimension, or
 * holds addends; where both cut one, in both orders. All else is empty's. */
size_t
sharding_model_list(uint32_t n_dims,
                    const struct hoop_sharding *empty,
                    struct hoop_sharding out_shardings[SHARDING_MODEL_MAX]);

/* Whether the axis cuts any dimension. */
bool
sharding_model_cuts(const struct hoop_sharding *sharding, uint32_t axis);

/* A layout, where it is looked at from. */
struct sharding_model_part {
    const struct hoop_sharding *sharding;
    const struct hoop_mesh_shape *mesh;
    const struct hoop_shape *shape;
    uint32_t place;
};

/* Elements of the whole tensor, and of the seat's part. */
size_t
sharding_model_whole(const struct hoop_shape *shape);
size_t
sharding_model_count(const struct sharding_model_part *seat);
/* Whether element i of the whole tensor is in its part, and where. */
bool
sharding_model_has(const struct sharding_model_part *seat,
                   size_t i,
                   size_t *out_at);

/* Its number among those that hold addends of the same, and how many do. */
uint32_t
sharding_model_addend(const struct sharding_model_part *seat,
                      uint32_t *out_n_addends);

/* Small enough for all sums and products to be exact in float32. */
double
sharding_model_value(size_t i);
/* That of addend number of n, whose reduction by op it is. */
double
sharding_model_addend_value(enum hoop_reduce_op op,
                            size_t i,
                            uint32_t number,
                            uint32_t n_addends);
/* One more addend. */
double
sharding_model_combine(enum hoop_reduce_op op, double a, double b);

#endif
