/*
 * tests/fault/ranks/mismatch_calls.h - every collective as a row of one table
 *
 * What two ranks may call differently is said of each, so that a matrix of
 * differing calls needs to know none by name. A new collective is a new row.
 */

#ifndef TESTS_MISMATCH_CALLS_H
#define TESTS_MISMATCH_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/hoop.h"

enum {
    MATRIX_RANKS = 4,
};

/* What a call has that may differ. */
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
    size_t count;         /* of a whole buffer, or of one block */
    const size_t *counts; /* the same, one for each rank */
    enum hoop_dtype dtype;
    enum hoop_reduce_op op;
    uint32_t root;
    hoop_comm_t *comm;
};

struct matrix_call {
    const char *name; /* as errors tell it */
    unsigned parts;   /* of enum matrix_parts */
    enum hoop_status (*run)(const struct matrix_args *args);
};

extern const struct matrix_call matrix_calls[];
extern const size_t n_matrix_calls;

#endif
