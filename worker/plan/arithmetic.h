/*
 * plan/arithmetic.h - how a checker run combines the numbers that bytes are
 *
 *     sum    commutative, associative. A sum tells what it holds.
 *     compose   associative only: the numbers are functions, one applied after
 *            the other. It tells in which order it holds it, lower ranks left.
 *     hash neither. Nobody can say what it ought to be, but ranks that have
 *            the same have combined the same in the same way: a reduction of
 *            floats then has the same bits on them.
 */

#ifndef PLAN_ARITHMETIC_H
#define PLAN_ARITHMETIC_H

#include <stdint.h>

enum arithmetic {
    ARITHMETIC_SUM,
    ARITHMETIC_COMPOSE,
    ARITHMETIC_HASH,
};

uint64_t
arithmetic_combine(enum arithmetic arithmetic, uint64_t left, uint64_t right);

#endif
