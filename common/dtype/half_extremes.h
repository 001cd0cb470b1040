/*
 * dtype/half_extremes.h - minimum and maximum of two 16-bit floats
 *
 * No conversion is needed: halves are mapped to integers of the same order and
 * compared. Everything fits 16-bit lanes, so a register holds sixteen: the keys
 * are signed, and so are the magnitudes that are compared to find a NaN.
 */

#ifndef DTYPE_HALF_EXTREMES_H
#define DTYPE_HALF_EXTREMES_H

#include <stdint.h>

/* An integer of the same order; -0 comes right before 0. Applying it twice
 * gives the half back. */
static inline int16_t
half_order(T half)
{
    const int16_t sign = (int16_t)((int16_t)half >> 15);

    return (int16_t)(half ^ (sign & 0x7fff));
}

static inline T
half_if_numbers(int16_t order, T left, T right)
{
    const int16_t a = (int16_t)(left & 0x7fff);
    const int16_t b = (int16_t)(right & 0x7fff);
    const int16_t larger = a > b ? a : b;
    const T result = (T)half_order((T)order);

    return larger > (int16_t)HALF_INFINITY ? (T)HALF_NAN : result;
}

static inline T
half_min(T left, T right)
{
    const int16_t a = half_order(left);
    const int16_t b = half_order(right);

    return half_if_numbers(a < b ? a : b, left, right);
}

static inline T
half_max(T left, T right)
{
    const int16_t a = half_order(left);
    const int16_t b = half_order(right);

    return half_if_numbers(a > b ? a : b, left, right);
}

#endif
