/*
 * dtype/quotient_float.h - divides integers T by n, by multiplying in the float
 * U
 *
 * The inverse of n is a few units in the last place too large, and so is each
 * product. It is never less than the true quotient, and never reaches the next
 * integer, which is farther away by at least one part in the largest T.
 */

#ifndef DTYPE_QUOTIENT_FLOAT_H
#define DTYPE_QUOTIENT_FLOAT_H

#include <stdint.h>

struct divisor {
    U inverse;
};

static inline struct divisor
quotient_by(uint32_t n)
{
    const double excess = sizeof(U) == sizeof(float) ? 0x1p-22 : 0x1p-50;

    return (struct divisor){.inverse = (U)((1 + excess) / n)};
}

static inline T
quotient_of(T value, struct divisor by)
{
    return (T)(int32_t)((U)value * by.inverse);
}

#endif
