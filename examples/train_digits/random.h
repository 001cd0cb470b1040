/* train_digits/random.h - the same numbers on every machine, from a seed */

#ifndef TRAIN_DIGITS_RANDOM_H
#define TRAIN_DIGITS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t state; /* any value is a seed */
};

/* 0 .. bound-1 */
size_t
random_below(struct random *random, size_t bound);

/* -1 .. 1 */
double
random_signed(struct random *random);

/* Shuffle the n indices. */
void
random_shuffle(struct random *random, size_t *indices, size_t n);

#endif
