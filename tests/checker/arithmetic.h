/*
 * tests/checker/arithmetic.h - how a checker run combines numbers that stand for bytes
 *
 *     sum      Commutative and associative. The result shows which operands it
 *              holds.
 *     compose  Associative only: the numbers are functions that are applied one
 *              after the other. The result shows the order of the operands,
 *              lower ranks left.
 *     hash     Neither. The expected result is not known, but two ranks have
 *              equal results only if they combined the same operands in the
 *              same way. A reduction of floats then gives them the same bits.
 */

#ifndef CHECKER_ARITHMETIC_H
#define CHECKER_ARITHMETIC_H

#include <stdint.h>

enum arithmetic {
    ARITHMETIC_SUM,
    ARITHMETIC_COMPOSE,
    ARITHMETIC_HASH,
};

uint64_t
arithmetic_combine(enum arithmetic arithmetic, uint64_t left, uint64_t right);

#endif
