/*
 * tests/pseudo_random.h - random numbers that can be repeated with a seed
 *
 * The generator is splitmix64: any seed is good, including 0, and seeds that
 * differ by one give unrelated sequences.
 */

#ifndef TESTS_PSEUDO_RANDOM_H
#define TESTS_PSEUDO_RANDOM_H

#include <stdint.h>
#include <stdlib.h>

static inline uint64_t
random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint32_t
random_word(uint64_t *state)
{
    return (uint32_t)(random_next(state) >> 32);
}

static inline uint32_t
random_below(uint64_t *state, uint32_t bound)
{
    return random_word(state) % bound;
}

/* Returns a seed or a number of rounds, which the environment may override. */
static inline uint64_t
number_from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

#endif
