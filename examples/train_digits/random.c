/*
 * train_digits/random.c - generates the same numbers on every machine
 *
 * It is SplitMix64, since rand() differs between C libraries, and all ranks
 * must shuffle alike.
 */

#include "train_digits/random.h"

static uint64_t
random_next(struct random *random)
{
    random->state += 0x9e3779b97f4a7c15;
    uint64_t mixed = random->state;

    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
}

size_t
random_below(struct random *random, size_t bound)
{
    return (size_t)(random_next(random) % bound);
}

double
random_signed(struct random *random)
{
    /* With 53 bits every value is exact. */
    const double unit = (double)(random_next(random) >> 11) * 0x1p-53;

    return 2 * unit - 1;
}

void
random_shuffle(struct random *random, size_t *indices, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        const size_t j = random_below(random, i);
        const size_t kept = indices[i - 1];

        indices[i - 1] = indices[j];
        indices[j] = kept;
    }
}
