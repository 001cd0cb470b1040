/* dtype/neutral.h - elements that change nothing when they are combined */

#ifndef DTYPE_NEUTRAL_H
#define DTYPE_NEUTRAL_H

#include <stdbool.h>
#include <stddef.h>

#include "hoop/dtype.h"

/*
 * Return whether op, a sum, product or bit operator, has a neutral element for
 * dtype. For the other operators, combining x with itself gives x (for AVG as
 * far as SUM is exact).
 */
bool
neutral_exists(enum hoop_dtype dtype, enum hoop_reduce_op op);

/* Write count neutral elements; there must be one. For sums of floats it is -0,
 * which keeps a -0. */
void
neutral_fill(enum hoop_dtype dtype,
             enum hoop_reduce_op op,
             void *values,
             size_t count);

#endif
