/*
 * train_3d/noise.c - numbers by chance that anybody finds again by their name
 *
 * However a model is cut, each weight must begin with the same value, and each
 * micro-batch be made of the same text. A number is therefore a function of
 * seed, name and place in the whole, not of how many were drawn before: FNV-1a
 * of the name chooses a SplitMix64 generator, in which one can jump.
 */

#include "train_3d/noise.h"

static uint64_t
name_hash(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3;
    return hash;
}

static uint64_t
bits_mix(uint64_t bits)
{
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return bits ^ (bits >> 31);
}

static uint64_t
noise_bits(struct noise noise, uint64_t index)
{
    const uint64_t start = bits_mix(noise.seed ^ name_hash(noise.name));

    return bits_mix(start + (index + 1) * 0x9e3779b97f4a7c15);
}

float
noise_signed(struct noise noise, uint64_t index)
{
    /* 24 bits: every value is exact. */
    const float unit = (float)(noise_bits(noise, index) >> 40) * 0x1p-24F;

    return 2 * unit - 1;
}

size_t
noise_below(struct noise noise, uint64_t index, size_t bound)
{
    return (size_t)(noise_bits(noise, index) % bound);
}
