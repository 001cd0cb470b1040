/* train_3d/noise.h - random numbers that every rank can compute */

#ifndef TRAIN_3D_NOISE_H
#define TRAIN_3D_NOISE_H

#include <stddef.h>
#include <stdint.h>

/* Selects a sequence of numbers. */
struct noise {
    uint64_t seed;
    const char *name; /* borrowed */
};

/* Returns element index of the sequence, a number from -1 to 1. */
float
noise_signed(struct noise noise, uint64_t index);

/* Returns element index of the sequence, a number from 0 to bound - 1. */
size_t
noise_below(struct noise noise, uint64_t index, size_t bound);

#endif
