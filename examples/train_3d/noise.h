/* train_3d/noise.h - numbers by chance that anybody finds again by their name */

#ifndef TRAIN_3D_NOISE_H
#define TRAIN_3D_NOISE_H

#include <stddef.h>
#include <stdint.h>

/* Which sequence of numbers. */
struct noise {
    uint64_t seed;
    const char *name; /* borrowed */
};

/* Element index of the sequence, -1 .. 1. */
float
noise_signed(struct noise noise, uint64_t index);

/* Element index of the sequence, 0 .. bound - 1. */
size_t
noise_below(struct noise noise, uint64_t index, size_t bound);

#endif
