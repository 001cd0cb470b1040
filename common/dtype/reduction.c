/* dtype/reduction.c - finds kernels by level, dtype and operator */

#include "dtype/reduction.h"

#include "dtype/kernels.h"

static const struct kernels *
reduction_kernels(enum reduction_level level, enum hoop_dtype dtype)
{
    kernels_level *const rows = kernels_at(level);

    if (!rows || (unsigned)dtype >= DTYPE_COUNT)
        return NULL;
    return (*rows)[dtype];
}

reduction_fn *
reduction_find_at(enum reduction_level level,
                  enum hoop_dtype dtype,
                  enum hoop_reduce_op op)
{
    const struct kernels *const kernels = reduction_kernels(level, dtype);

    if (!kernels || (unsigned)op >= REDUCE_OP_COUNT)
        return NULL;
    return kernels->combine[op];
}

division_fn *
division_find_at(enum reduction_level level, enum hoop_dtype dtype)
{
    const struct kernels *const kernels = reduction_kernels(level, dtype);

    return kernels ? kernels->divide : NULL;
}

reduction_fn *
reduction_find(enum hoop_dtype dtype, enum hoop_reduce_op op)
{
    return reduction_find_at(reduction_level_best(), dtype, op);
}

void
reduction_of_one(enum hoop_dtype dtype, void *values, size_t count)
{
    /* "x or x" is x as 0 or 1. */
    if (dtype == HOOP_BOOL)
        reduction_find(HOOP_BOOL, HOOP_BOR)(values, values, values, count);
}

division_fn *
division_find(enum hoop_dtype dtype)
{
    return division_find_at(reduction_level_best(), dtype);
}
