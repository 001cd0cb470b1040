/*
 * tests/fault/ranks/mismatch_calls.h - collectives as rows of one table
 *
 * Each row says what two ranks may call differently, so that a matrix of
 * differing calls knows no collective by name. A new collective is a new row.
 */

#ifndef TESTS_MISMATCH_CALLS_H
#define TESTS_MISMATCH_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/hoop.h"

enum {
    MATRIX_RANKS = 4,
};

/* These parts of a call may differ. */
enum matrix_parts {
    MATRIX_HAS_DTYPE = 1,
    MATRIX_HAS_COUNT = 2,
    MATRIX_HAS_ROOT = 4,
    MATRIX_HAS_OP = 8,
    MATRIX_HAS_COUNTS = 16, /* one for each rank */
    MATRIX_IN_BLOCKS = 32,  /* a buffer holds a block for each rank */
};

struct matrix_args {
    const void *send;
    void *recv;
    size_t count;         /* elements of a whole buffer, or of one block */
    const size_t *counts; /* the counts of all ranks */
    enum hoop_dtype dtype;
    enum hoop_reduce_op op;
    uint32_t root;
    hoop_comm_t *comm;
};

struct matrix_call {
    const char *name; /* the name in error texts */
    unsigned parts;   /* a set of enum matrix_parts */
    enum hoop_status (*run)(const struct matrix_args *args);
};

extern const struct matrix_call matrix_calls[];
extern const size_t n_matrix_calls;

#endif
