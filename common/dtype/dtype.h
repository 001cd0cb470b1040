/* dtype/dtype.h - sizes and names of element types and operators */

#ifndef DTYPE_DTYPE_H
#define DTYPE_DTYPE_H

#include <stddef.h>

#include "hoop/dtype.h"

enum {
    DTYPE_COUNT = HOOP_BOOL + 1,
    REDUCE_OP_COUNT = HOOP_AVG + 1, /* includes the unused numbers between
                                       Bagua's */
};

/* 0 if dtype is unknown. */
size_t
dtype_size(enum hoop_dtype dtype);

/* Bytes of a float, or of one part of a complex number; 0: not a float. */
size_t
dtype_float_size(enum hoop_dtype dtype);

/* "float32", ...; "unknown" if dtype is unknown. */
const char *
dtype_name(enum hoop_dtype dtype);

/* "sum", ...; "unknown" if op is unknown. */
const char *
reduce_op_name(enum hoop_reduce_op op);

#endif
