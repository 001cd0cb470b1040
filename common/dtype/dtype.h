/* dtype/dtype.h - sizes and names of element types and operators */

#ifndef DTYPE_DTYPE_H
#define DTYPE_DTYPE_H

#include <stddef.h>

#include "hoop/dtype.h"

enum {
    DTYPE_COUNT = HOOP_BOOL + 1,
    REDUCE_OP_COUNT = HOOP_AVG + 1, /* with the gap that Bagua's numbers have */
};

/* 0 when dtype is unknown. */
size_t
dtype_size(enum hoop_dtype dtype);

/* Bytes of a float in it: all, or the parts of a complex number; 0: it is no
 * float. */
size_t
dtype_float_size(enum hoop_dtype dtype);

/* "float32"; "unknown" when it is. */
const char *
dtype_name(enum hoop_dtype dtype);

/* "sum"; "unknown" when it is. */
const char *
reduce_op_name(enum hoop_reduce_op op);

#endif
