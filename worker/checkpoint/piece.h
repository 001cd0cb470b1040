/*
 * checkpoint/piece.h - which elements of a tensor each place writes
 *
 * Places that hold the same part share the work: the elements of the part, in
 * row-major order, are cut into units of PIECE_UNIT_BYTES bytes, and each place
 * writes one contiguous piece of about equally many units. If a part is a
 * single unit, one place writes it; which one rotates with the number of the
 * tensor. All of this is computed, so a loading rank finds what is where by
 * computing it for all places.
 */

#ifndef CHECKPOINT_PIECE_H
#define CHECKPOINT_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checkpoint/manifest.h"

enum {
    PIECE_UNIT_BYTES = 64 * 1024,
    /* A piece begins at a multiple of this in its file. */
    PIECE_ALIGNMENT = 64,
};

struct tensor_piece {
    struct hoop_part part; /* the part that the place holds */
    size_t first; /* index of the first element in the part, row-major */
    size_t n_elements;
};

/* The piece that place writes of a tensor. number is the tensor's index in
 * manifest, which has been checked. */
struct tensor_piece
tensor_piece_of_place(const struct checkpoint_manifest *manifest,
                      size_t number,
                      uint32_t place);

/* The first of the places that hold the same part as place. */
uint32_t
piece_first_replica_place(const struct hoop_checkpoint_tensor *tensor,
                          uint32_t place);

/* Compute the offset of each tensor's piece in the file of place, [n_tensors].
 * Returns the size of the file. */
uint64_t
piece_file_offsets(const struct checkpoint_manifest *manifest,
                   uint32_t place,
                   uint64_t *out_offsets);

/* The bytes of a piece including the padding up to the next one. */
uint64_t
piece_padded_bytes(uint64_t n_bytes);

/*
 * The elements that a piece of a file and a part share.
 *
 * Both are boxes of one tensor, each in its own row-major order. The shared
 * elements form runs that are contiguous in both; they are produced in an
 * order that is ascending in both.
 */

/* A contiguous run; all fields are in elements. */
struct overlap_run {
    size_t from; /* offset in the piece */
    size_t to;   /* offset in the part */
    size_t n_elements;
};

struct overlap {
    /* The fields are private. */
    struct hoop_shape rows; /* the dimensions that count rows */
    size_t saved_part_strides[HOOP_MAX_DIMS];
    size_t wanted_part_strides[HOOP_MAX_DIMS];
    size_t from; /* of the first row, in the part that was saved */
    size_t to;
    size_t n_elements; /* in a row */
    size_t n_rows;
    size_t row; /* the next row */
    size_t piece_first_element;
    size_t piece_end_element;
};

/* Compute the overlap of piece and part, which are of one tensor. */
struct overlap
overlap_of_piece_and_part(const struct tensor_piece *piece,
                          const struct hoop_part *part);

/* Take the next run; returns false if there is none. */
bool
overlap_next_run(struct overlap *overlap, struct overlap_run *out_run);

#endif
