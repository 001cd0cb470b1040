/* train_3d/parameter.h - a weight matrix, or this rank's part of one */

#ifndef TRAIN_3D_PARAMETER_H
#define TRAIN_3D_PARAMETER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train_3d/matrix.h"

/* Some of the rows, or of the columns, of a whole matrix. */
struct span {
    size_t begin;
    size_t count;
    size_t whole;
};

struct span
span_all(size_t whole);
/* Returns the given part of n equal parts. */
struct span
span_part(size_t whole, size_t part, size_t n);

struct parameter_options {
    const char *name; /* of the whole matrix, on all ranks; borrowed */
    uint64_t seed;
    struct span rows;
    struct span columns;
    float middle; /* values are from middle - reach to middle + reach */
    float reach;
};

struct parameter {
    struct matrix value;
    struct matrix gradient;
    bool is_whole; /* every rank of the tensor-parallel group has all */
};

/* Undo it with parameter_deinit(). */
void
parameter_init(struct parameter *parameter,
               const struct parameter_options *options);
/* The memory may also be zeroed. */
void
parameter_deinit(struct parameter *parameter);

#endif
