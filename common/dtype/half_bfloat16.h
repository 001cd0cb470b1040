/* dtype/half_bfloat16.h - bfloat16 is the upper half of a float */

#ifndef DTYPE_HALF_BFLOAT16_H
#define DTYPE_HALF_BFLOAT16_H

#include <stdint.h>

enum {
    HALF_INFINITY = 0x7f80,
    HALF_NAN = 0x7fc0,
};

union half_float {
    float value;
    uint32_t bits;
};

static inline float
half_widen(uint16_t half)
{
    return (union half_float){.bits = (uint32_t)half << 16}.value;
}

/* To nearest, ties to even; a value too large carries into infinity. */
static inline uint16_t
half_narrow(float value)
{
    const uint32_t bits = (union half_float){.value = value}.bits;
    const uint32_t odd = bits >> 16 & 1;
    const uint32_t rounded = (bits + 0x7fff + odd) >> 16;

    return (uint16_t)(value == value ? rounded : HALF_NAN);
}

#include "dtype/half_block.h"

#endif
