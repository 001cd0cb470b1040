/*
 * dtype/quotient_integer.h - divides integers T by n, by multiplying
 *
 * A quotient is the upper half of the product W of a magnitude U and the
 * inverse of n. The inverse is rounded down, so the result is right or one too
 * small, and the remainder says which. Where U is twice as wide as T, the
 * inverse is rounded up and the result is right at once: the error, for 8 bits
 * less than 2^8 / 2^16, does not reach the next integer.
 */

#ifndef DTYPE_QUOTIENT_INTEGER_H
#define DTYPE_QUOTIENT_INTEGER_H

#include <stdint.h>

enum {
    QUOTIENT_BITS = 8 * sizeof(U),
    QUOTIENT_SIGN = 8 * sizeof(T) - 1,
    QUOTIENT_IS_WIDE = sizeof(U) > sizeof(T),
    QUOTIENT_IS_SIGNED = (T)-1 < (T)1,
};

struct divisor {
    U n;
    U inverse;
};

/* n is at least 2. */
static inline struct divisor
quotient_by(uint32_t n)
{
    const U most = (U) ~(U)0;

    return (struct divisor){
        .n = (U)n,
        .inverse = (U)(most / n + QUOTIENT_IS_WIDE),
    };
}

static inline T
quotient_of(T value, struct divisor by)
{
    const U sign = QUOTIENT_IS_SIGNED ? (U)(value >> QUOTIENT_SIGN) : 0;
    const U magnitude = (U)(((U)value ^ sign) - sign);
    U result = (U)((W)magnitude * by.inverse >> QUOTIENT_BITS);

    if (!QUOTIENT_IS_WIDE) {
        const U rest = (U)(magnitude - (U)(result * by.n));
        result = (U)(result + (rest >= by.n));
    }
    return (T)((result ^ sign) - sign);
}

#endif
