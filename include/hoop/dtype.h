/* hoop/dtype.h - element types and reduce operators */

#ifndef HOOP_DTYPE_H
#define HOOP_DTYPE_H

#include <stddef.h>

#include "hoop/api.h"

HOOP_BEGIN

/* Elements are in the machine's own byte order; hoop runs on little-endian. */
enum hoop_dtype {
    HOOP_INT8 = 0,
    HOOP_UINT8 = 1,
    HOOP_INT16 = 2,
    HOOP_UINT16 = 3,
    HOOP_INT32 = 4,
    HOOP_UINT32 = 5,
    HOOP_INT64 = 6,
    HOOP_UINT64 = 7,
    HOOP_FLOAT16 = 8,  /* IEEE binary16; combined in float32 */
    HOOP_BFLOAT16 = 9, /* combined in float32 */
    HOOP_FLOAT32 = 10,
    HOOP_FLOAT64 = 11,
    HOOP_COMPLEX64 = 12, /* two float32: real, imaginary */
    HOOP_COMPLEX128 = 13,
    /* One byte: 0 is false, any other value is true. A reduction gives 0 or 1,
     * also where only one rank contributes. Calls that combine nothing
     * (broadcasts, gathers, scatters, all-to-alls, messages) pass the bytes on
     * as they are. */
    HOOP_BOOL = 14,
};

/*
 * The numbers are Bagua's ReduceOp. Integers wrap around in their own type;
 * AVG sums, then divides once: integers truncate toward zero. BAND, BOR and
 * BXOR need integers or bool, MIN and MAX anything but complex, AVG anything
 * but bool. On bool SUM and MAX are or, PRODUCT and MIN are and. The reduction of
 * one contribution (one rank alone, the first of a scan) is that contribution,
 * bit for bit, unless it is bool.
 */
enum hoop_reduce_op {
    HOOP_SUM = 0,
    HOOP_PRODUCT = 1,
    HOOP_MIN = 2,
    HOOP_MAX = 3,
    HOOP_BOR = 7,
    HOOP_BAND = 8,
    HOOP_BXOR = 9,
    HOOP_AVG = 10,
};

/* Bytes of one element, 0 for an unknown dtype. Thread: any. */
HOOP_API size_t
hoop_dtype_size(enum hoop_dtype dtype);

/* "float32", ..., or "unknown". Thread: any. */
HOOP_API const char *
hoop_dtype_name(enum hoop_dtype dtype);

/* "sum", ..., or "unknown". Thread: any. */
HOOP_API const char *
hoop_reduce_op_name(enum hoop_reduce_op op);

HOOP_END

#endif
