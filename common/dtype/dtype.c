/* dtype/dtype.c - sizes and names of element types and operators */

#include "dtype/dtype.h"

struct dtype_row {
    const char *name;
    size_t size;
    size_t float_size;
};

static const struct dtype_row dtypes[DTYPE_COUNT] = {
    [HOOP_INT8] = {"int8", 1, 0},
    [HOOP_UINT8] = {"uint8", 1, 0},
    [HOOP_INT16] = {"int16", 2, 0},
    [HOOP_UINT16] = {"uint16", 2, 0},
    [HOOP_INT32] = {"int32", 4, 0},
    [HOOP_UINT32] = {"uint32", 4, 0},
    [HOOP_INT64] = {"int64", 8, 0},
    [HOOP_UINT64] = {"uint64", 8, 0},
    [HOOP_FLOAT16] = {"float16", 2, 2},
    [HOOP_BFLOAT16] = {"bfloat16", 2, 2},
    [HOOP_FLOAT32] = {"float32", 4, 4},
    [HOOP_FLOAT64] = {"float64", 8, 8},
    [HOOP_COMPLEX64] = {"complex64", 8, 4},
    [HOOP_COMPLEX128] = {"complex128", 16, 8},
    [HOOP_BOOL] = {"bool", 1, 0},
};

static const char *const reduce_ops[REDUCE_OP_COUNT] = {
    [HOOP_SUM] = "sum",   [HOOP_PRODUCT] = "product", [HOOP_MIN] = "min",
    [HOOP_MAX] = "max",   [HOOP_BOR] = "bor",         [HOOP_BAND] = "band",
    [HOOP_BXOR] = "bxor", [HOOP_AVG] = "avg",
};

size_t
dtype_size(enum hoop_dtype dtype)
{
    /* The cast also makes negative numbers too large. */
    return (unsigned)dtype < DTYPE_COUNT ? dtypes[dtype].size : 0;
}

size_t
dtype_float_size(enum hoop_dtype dtype)
{
    return (unsigned)dtype < DTYPE_COUNT ? dtypes[dtype].float_size : 0;
}

const char *
dtype_name(enum hoop_dtype dtype)
{
    return (unsigned)dtype < DTYPE_COUNT ? dtypes[dtype].name : "unknown";
}

const char *
reduce_op_name(enum hoop_reduce_op op)
{
    const char *name = NULL;
    if ((unsigned)op < REDUCE_OP_COUNT)
        name = reduce_ops[op];
    return name ? name : "unknown";
}
