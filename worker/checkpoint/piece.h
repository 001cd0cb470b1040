/*
 * checkpoint/piece.h - which elements of a tensor each place writes
 *
 * Places that hold the same part share the work: the elements of the part, in
 * row-major order, are cut into units of PIECE_UNIT bytes, and each place
 * writes one contiguous piece of about equally many units. If a part is a
 * single unit, one place writes it; which one rotates with the number of the
 * tensor. All of this is computed, so a loading rank finds what is where by
 * computing it for all places.
 */

#ifndef CHECKPOINT_PIECE_H
#define CHECKPOINT_PIECE_H

#include <stddef.h>
#include <stdint.h>

#include "checkpoint/manifest.h"

enum {
    PIECE_UNIT = 64 * 1024,
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

#endif
