/* codec/loss_kernels.h - the functions that each loss implements; private to
 * codec/ */

#ifndef CODEC_LOSS_KERNELS_H
#define CODEC_LOSS_KERNELS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct loss_kernel {
    const char *name;
    size_t granule;
    size_t word_size;
    size_t (*n_stored)(size_t count);
    void (*store)(const uint8_t *floats, size_t count, uint8_t *stored);
    void (*load)(const uint8_t *stored, size_t count, uint8_t *floats);
    /* Stores and loads at once, if that is faster; or NULL. */
    void (*round)(const uint8_t *floats, size_t count, uint8_t *out);
};

union loss_float {
    float value;
    uint32_t bits;
};

static inline union loss_float
loss_float_at(const uint8_t *floats, size_t i)
{
    union loss_float one;

    memcpy(&one, floats + 4 * i, sizeof(one));
    return one;
}

static inline void
loss_float_put(uint8_t *floats, size_t i, union loss_float one)
{
    memcpy(floats + 4 * i, &one, sizeof(one));
}

static inline uint16_t
loss_half_at(const uint8_t *halves, size_t i)
{
    uint16_t half;

    memcpy(&half, halves + 2 * i, sizeof(half));
    return half;
}

static inline void
loss_half_put(uint8_t *halves, size_t i, uint16_t half)
{
    memcpy(halves + 2 * i, &half, sizeof(half));
}

#endif
