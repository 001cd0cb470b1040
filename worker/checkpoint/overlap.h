/*
 * checkpoint/overlap.h - the elements that a piece of a file and a part share
 *
 * Both are boxes of one tensor, each in its own row-major order. The shared
 * elements form runs that are contiguous in both; they are produced in an order
 * that is ascending in both.
 */

#ifndef CHECKPOINT_OVERLAP_H
#define CHECKPOINT_OVERLAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checkpoint/piece.h"

/* A contiguous run; all fields are in elements. */
struct overlap_run {
    size_t from; /* offset in the piece */
    size_t to;   /* offset in the part */
    size_t n_elements;
};

struct overlap {
    /* The fields are private. */
    struct hoop_shape rows; /* the dimensions that count rows */
    size_t from_strides[HOOP_MAX_DIMS];
    size_t to_strides[HOOP_MAX_DIMS];
    size_t from; /* of the first row, in the part that was saved */
    size_t to;
    size_t n_elements; /* in a row */
    size_t n_rows;
    size_t row; /* the next row */
    size_t piece_first;
    size_t piece_end;
};

/* Compute the overlap of piece and part, which are of one tensor. */
struct overlap
overlap_of_piece_and_part(const struct tensor_piece *piece,
                          const struct hoop_part *part);

/* Take the next run; returns false if there is none. */
bool
overlap_next_run(struct overlap *overlap, struct overlap_run *out_run);

#endif
