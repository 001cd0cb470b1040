/*
 * tests/integration/vectors.h - one function of the interface, on processes
 *
 * A test of a function is one body, run on 1, 2, 3, 4 and 8 processes. It knows
 * its result without the library: worked examples where there are three ranks
 * or two, formulas otherwise. Values are int64, -1 where nothing may be
 * written.
 */

#ifndef TESTS_VECTORS_H
#define TESTS_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "ranks.h"

enum {
    VECTOR_MAX = 64,
    SENTINEL = -1
};

/* The main of a test program. */
int
vectors_run(const struct rank_case *cases, size_t n_cases);

/* All elements -1. */
struct vector {
    int64_t at[VECTOR_MAX];
};

struct vector
vector_empty(void);
/* at[i] = first + i for n elements. */
struct vector
vector_from(int64_t first, size_t n);
/* 10 r + 1, 10 r + 2 of one rank. */
struct vector
vector_pair(uint32_t rank);
/* ... and of ranks 0 to size - 1 in a row. */
struct vector
vector_pairs(uint32_t size);
/* in_r = [0 .. 2 size) + 10 r. */
struct vector
vector_ramp(uint32_t rank, uint32_t size);

/* n elements as expected, and -1 behind them. */
bool
vector_is(const struct vector *vector, const int64_t *expected, size_t n);
bool
vector_equal(const struct vector *a, const struct vector *b);

/* The _start form, waited for. */
enum hoop_status
vector_finish(enum hoop_status status, hoop_op_t *const *op);

#endif
