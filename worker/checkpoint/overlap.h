/*
 * checkpoint/overlap.h - what a piece of a file has of a part in memory
 *
 * Both are boxes of one tensor, each in its own row-major order. What they have
 * in common lies in runs that are unbroken in both, and comes in rising order
 * of both.
 */

#ifndef CHECKPOINT_OVERLAP_H
#define CHECKPOINT_OVERLAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checkpoint/piece.h"

/* In elements. */
struct run {
    size_t from; /* of the piece */
    size_t to;   /* of the part */
    size_t n_elements;
};

struct overlap {
    /* The caller does not look inside. */
    struct hoop_shape rows; /* dimensions that count rows */
    size_t from_strides[HOOP_MAX_DIMS];
    size_t to_strides[HOOP_MAX_DIMS];
    size_t from; /* of the first row, in the part that was saved */
    size_t to;
    size_t n_elements; /* of a row */
    size_t n_rows;
    size_t row; /* the next */
    size_t piece_first;
    size_t piece_end;
};

/* piece and part are of one tensor. */
struct overlap
overlap_of(const struct piece *piece, const struct hoop_part *part);

/* The next run; false: there is none. */
bool
overlap_next(struct overlap *overlap, struct run *out_run);

#endif
