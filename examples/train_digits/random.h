/* train_digits/random.h - generates the same numbers on every machine */

#ifndef TRAIN_DIGITS_RANDOM_H
#define TRAIN_DIGITS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t state; /* any value may be the seed */
};

/* Returns a number from 0 to bound - 1. */
size_t
random_below(struct random *random, size_t bound);

/* Returns a number from -1 to 1. */
double
random_signed(struct random *random);

/* Shuffles the n indices. */
void
random_shuffle(struct random *random, size_t *indices, size_t n);

#endif
