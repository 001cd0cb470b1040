/* tests/unit/examples/train_3d/slope.h - is a gradient the slope of what it is of? */

#ifndef TESTS_SLOPE_H
#define TESTS_SLOPE_H

#include "train_3d/matrix.h"

/* What depends on values; owner is the test's. */
typedef double
loss_fn(void *owner);

struct slope {
    loss_fn *loss;
    void *owner;
    struct matrix values; /* changed and put back */
    struct matrix gradient;
    float step;
};

/*
 * How far the gradient is from differences of the loss, as a share of the
 * gradient's own length: in its direction, then in some directions by chance.
 */
double
slope_error(const struct slope *slope);

#endif
