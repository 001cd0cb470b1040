/* dtype/lanes_float.h - pairs of floats in a vector of 32 bytes */

#ifndef DTYPE_LANES_FLOAT_H
#define DTYPE_LANES_FLOAT_H

#include <stdint.h>

typedef float lanes __attribute__((vector_size(32)));
typedef uint32_t lanes_bits __attribute__((vector_size(32)));

/* Passed by address, since vectors wider than the processor's have no calling
 * convention. */

/* Each pair's first number, twice. */
static inline void
lanes_first(lanes *out, const lanes *pairs)
{
    *out = __builtin_shufflevector(*pairs, *pairs, 0, 0, 2, 2, 4, 4, 6, 6);
}

static inline void
lanes_second(lanes *out, const lanes *pairs)
{
    *out = __builtin_shufflevector(*pairs, *pairs, 1, 1, 3, 3, 5, 5, 7, 7);
}

static inline void
lanes_swap(lanes *out, const lanes *pairs)
{
    *out = __builtin_shufflevector(*pairs, *pairs, 1, 0, 3, 2, 5, 4, 7, 6);
}

/* Change the sign of each pair's first number. */
static inline void
lanes_negate_first(lanes *pairs)
{
    static const lanes_bits signs = {0x80000000, 0, 0x80000000, 0,
                                     0x80000000, 0, 0x80000000, 0};

    *pairs = (lanes)((lanes_bits)*pairs ^ signs);
}

#endif
