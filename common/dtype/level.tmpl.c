/*
 * dtype/level.tmpl.c - the rows of one level; ROW(dtype) names them
 *
 * The build compiles this once per level, as it does the kernels.
 */

#include "dtype/kernels.h"

extern const struct kernels ROW(int8);
extern const struct kernels ROW(uint8);
extern const struct kernels ROW(int16);
extern const struct kernels ROW(uint16);
extern const struct kernels ROW(int32);
extern const struct kernels ROW(uint32);
extern const struct kernels ROW(int64);
extern const struct kernels ROW(uint64);
extern const struct kernels ROW(float16);
extern const struct kernels ROW(bfloat16);
extern const struct kernels ROW(float32);
extern const struct kernels ROW(float64);
extern const struct kernels ROW(complex64);
extern const struct kernels ROW(complex128);
extern const struct kernels ROW(bool8);

extern kernels_level ROW(level);
kernels_level ROW(level) = {
    [HOOP_INT8] = &ROW(int8),           [HOOP_UINT8] = &ROW(uint8),
    [HOOP_INT16] = &ROW(int16),         [HOOP_UINT16] = &ROW(uint16),
    [HOOP_INT32] = &ROW(int32),         [HOOP_UINT32] = &ROW(uint32),
    [HOOP_INT64] = &ROW(int64),         [HOOP_UINT64] = &ROW(uint64),
    [HOOP_FLOAT16] = &ROW(float16),     [HOOP_BFLOAT16] = &ROW(bfloat16),
    [HOOP_FLOAT32] = &ROW(float32),     [HOOP_FLOAT64] = &ROW(float64),
    [HOOP_COMPLEX64] = &ROW(complex64), [HOOP_COMPLEX128] = &ROW(complex128),
    [HOOP_BOOL] = &ROW(bool8),
};
