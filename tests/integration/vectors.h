/*
 * tests/integration/vectors.h - one function of the interface, on processes
 *
 * The test of a function is one body that runs on 1, 2, 3, 4 and 8 processes.
 * It knows its result without the library: from worked examples for two or
 * three ranks, and otherwise from formulas. The values are int64. Elements that
 * must not be written are -1.
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

/* This is the main function of a test program. */
int
vectors_run(const struct rank_case *cases, size_t n_cases);

/* Its elements are -1 unless a function below sets them. */
struct vector {
    int64_t at[VECTOR_MAX];
};

struct vector
vector_empty(void);
/* Returns at[i] = first + i for n elements. */
struct vector
vector_from(int64_t first, size_t n);
/* Returns 10 r + 1 and 10 r + 2 for rank r. */
struct vector
vector_pair(uint32_t rank);
/* Returns the pairs of ranks 0 to size - 1 in a row. */
struct vector
vector_pairs(uint32_t size);
/* Returns the numbers 0 to 2 size - 1, plus 10 r for rank r. */
struct vector
vector_ramp(uint32_t rank, uint32_t size);

/* Returns whether the first n elements are as expected and the others -1. */
bool
vector_is(const struct vector *vector, const int64_t *expected, size_t n);
bool
vector_equal(const struct vector *a, const struct vector *b);

/* Waits for a call in its _start form. */
enum hoop_status
vector_finish(enum hoop_status status, hoop_op_t *const *op);

#endif
