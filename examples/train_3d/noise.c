/*
 * train_3d/noise.c - random numbers that every rank can compute from their name
 *
 * However a model is cut, each weight must begin with the same value, and each
 * micro-batch must consist of the same text. So a number is a function of the
 * seed, a name and the position in the whole, and not of how many numbers were
 * drawn before. FNV-1a of the name selects a SplitMix64 generator, which can
 * jump to any position.
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
    /* With 24 bits every value is exact. */
    const float unit = (float)(noise_bits(noise, index) >> 40) * 0x1p-24F;

    return 2 * unit - 1;
}

size_t
noise_below(struct noise noise, uint64_t index, size_t bound)
{
    return (size_t)(noise_bits(noise, index) % bound);
}
