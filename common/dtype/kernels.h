/*
 * dtype/kernels.h - the kernels of one dtype at one level, as a table row
 *
 * A kernel_*.tmpl.c file is compiled once per dtype and level, as a row named
 * by -DKERNELS. level.tmpl.c collects the rows of a level.
 */

#ifndef DTYPE_KERNELS_H
#define DTYPE_KERNELS_H

#include "dtype/dtype.h"
#include "dtype/reduction.h"

/* NULL where dtype does not support the operator. */
struct kernels {
    reduction_fn *combine[REDUCE_OP_COUNT];
    division_fn *divide;
};

typedef const struct kernels *const kernels_level[DTYPE_COUNT];

/* NULL if this machine cannot run the level. */
kernels_level *
kernels_at(enum reduction_level level);

#endif
