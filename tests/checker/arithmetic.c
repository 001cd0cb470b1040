/*
 * tests/checker/arithmetic.c - how a checker run combines numbers that stand for bytes
 */

#include "checker/arithmetic.h"

/* A number stands for the function x -> affine_factor * x + offset, modulo 2^32. Its
 * high half is the factor, made odd so that no information is lost; its low
 * half is the offset. */
static uint32_t
affine_factor(uint64_t x)
{
    return (uint32_t)(x >> 32) | 1;
}

static uint64_t
affine_compose(uint64_t left, uint64_t right)
{
    const uint32_t both = affine_factor(left) * affine_factor(right);
    const uint32_t offset =
        affine_factor(right) * (uint32_t)left + (uint32_t)right;

    return (uint64_t)both << 32 | offset;
}

/* Uses unrelated constants for the two operands. */
static uint64_t
hash_combine(uint64_t left, uint64_t right)
{
    const uint64_t x =
        left * UINT64_C(0x2545f4914f6cdd1d) ^
        (right + UINT64_C(0x632be59bd9b4e019)) * UINT64_C(0xd1342543de82ef95);

    return x ^ x >> 29;
}

uint64_t
arithmetic_combine(enum arithmetic arithmetic, uint64_t left, uint64_t right)
{
    switch (arithmetic) {
    case ARITHMETIC_SUM:
        break;
    case ARITHMETIC_COMPOSE:
        return affine_compose(left, right);
    case ARITHMETIC_HASH:
        return hash_combine(left, right);
    }
    return left + right;
}
