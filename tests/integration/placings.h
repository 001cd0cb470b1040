/*
 * tests/integration/placings.h - all ways a small tensor may lie over a mesh
 *
 * And, element by element, what that means: shares no code with the library.
 * The element at place i of the whole tensor is placing_value(i).
 */

#ifndef TESTS_PLACINGS_H
#define TESTS_PLACINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/sharding.h"

enum {
    PLACINGS_MAX = 32, /* of a mesh of two axes, and three dimensions */
    PLACING_ELEMENTS_MAX = 576,
};

/* Every axis of a mesh of two leaves the tensor whole, cuts a dimension, or
 * holds addends; where both cut one, in both orders. All else is empty's. */
size_t
placings_list(uint32_t n_dims,
              const struct hoop_sharding *empty,
              struct hoop_sharding out_placings[PLACINGS_MAX]);

/* Whether the axis cuts any dimension. */
bool
placing_cuts(const struct hoop_sharding *sharding, uint32_t axis);

/* A layout, where it is looked at from. */
struct placing_seat {
    const struct hoop_sharding *sharding;
    const struct hoop_mesh_shape *mesh;
    const struct hoop_shape *shape;
    uint32_t place;
};

/* Elements of the whole tensor, and of the seat's part. */
size_t
placing_whole(const struct hoop_shape *shape);
size_t
placing_count(const struct placing_seat *seat);
/* Whether element i of the whole tensor is in its part, and where. */
bool
placing_has(const struct placing_seat *seat, size_t i, size_t *out_at);

/* Its number among those that hold addends of the same, and how many do. */
uint32_t
placing_addend(const struct placing_seat *seat, uint32_t *out_n_addends);

/* Small enough for all sums and products to be exact in float32. */
double
placing_value(size_t i);
/* That of addend number of n, whose reduction by op it is. */
double
placing_addend_value(enum hoop_reduce_op op,
                     size_t i,
                     uint32_t number,
                     uint32_t n_addends);
/* One more addend. */
double
placing_combine(enum hoop_reduce_op op, double a, double b);

#endif
