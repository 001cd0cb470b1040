/* dtype/neutral.h - elements that change nothing when they are combined */

#ifndef DTYPE_NEUTRAL_H
#define DTYPE_NEUTRAL_H

#include <stdbool.h>
#include <stddef.h>

#include "hoop/dtype.h"

/*
 * Whether a sum, a product or bits of dtype have a neutral element: the other
 * operators give x back for x and x instead (AVG as far as SUM is exact).
 */
bool
neutral_exists(enum hoop_dtype dtype, enum hoop_reduce_op op);

/* count of them. There is one. Of sums of floats it is -0, which leaves a -0 as
 * it is. */
void
neutral_fill(enum hoop_dtype dtype,
             enum hoop_reduce_op op,
             void *values,
             size_t count);

#endif
