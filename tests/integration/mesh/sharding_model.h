/*
 * tests/integration/mesh/sharding_model.h - all layouts of a small tensor
 *
 * The model also computes, element by element, what a layout means. It shares
 * no code with the library. The element at place i of the whole tensor is
 * sharding_model_value(i).
 */

#ifndef TESTS_INTEGRATION_SHARDING_MODEL_H
#define TESTS_INTEGRATION_SHARDING_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/sharding.h"

enum {
    SHARDING_MODEL_MAX = 32, /* for two axes and three dimensions */
    SHARDING_MODEL_ELEMENTS_MAX = 576,
};

/* Lists all shardings over a mesh of two axes. Each axis does nothing, shards a
 * dimension, or holds addends. If both shard one dimension, both orders are
 * listed. Everything else is copied from empty. */
size_t
sharding_model_list(uint32_t n_dims,
                    const struct hoop_sharding *empty,
                    struct hoop_sharding out_shardings[SHARDING_MODEL_MAX]);

/* Returns whether the axis shards any dimension. */
bool
sharding_model_cuts(const struct hoop_sharding *sharding, uint32_t axis);

/* This is the part of a layout that one place of the mesh has. */
struct sharding_model_part {
    const struct hoop_sharding *sharding;
    const struct hoop_mesh_shape *mesh;
    const struct hoop_shape *shape;
    uint32_t place;
};

/* Return the number of elements of the whole tensor, and of this part. */
size_t
sharding_model_whole(const struct hoop_shape *shape);
size_t
sharding_model_count(const struct sharding_model_part *seat);
/* Returns whether the part has element i of the whole tensor, and where. */
bool
sharding_model_has(const struct sharding_model_part *seat,
                   size_t i,
                   size_t *out_at);

/* Returns the part's number among those with addends of the same elements, and
 * how many there are. */
uint32_t
sharding_model_addend(const struct sharding_model_part *seat,
                      uint32_t *out_n_addends);

/* The value is so small that all sums and products are exact in float32. */
double
sharding_model_value(size_t i);
/* Returns one of n_addends values whose reduction by op is the element's
 * value. */
double
sharding_model_addend_value(enum hoop_reduce_op op,
                            size_t i,
                            uint32_t number,
                            uint32_t n_addends);
/* Combines two addends. */
double
sharding_model_combine(enum hoop_reduce_op op, double a, double b);

#endif
