/*
 * checkpoint/piece.h - which elements of a tensor each place writes
 *
 * Places that have the same part share it: its elements, in row-major order,
 * are cut in units of PIECE_UNIT bytes, and the units dealt out evenly, one
 * piece in a row for each. A part of one unit is one place's, and which one
 * goes around with the number of the tensor. All is arithmetic: who loads finds
 * what is where by asking the same for all places.
 */

#ifndef CHECKPOINT_PIECE_H
#define CHECKPOINT_PIECE_H

#include <stddef.h>
#include <stdint.h>

#include "checkpoint/manifest.h"

enum {
    PIECE_UNIT = 64 * 1024,
    /* Where a piece begins in its file. */
    PIECE_ALIGNMENT = 64,
};

struct piece {
    struct hoop_part part; /* of the place */
    size_t first;          /* element of the part, row-major */
    size_t n_elements;
};

/* number is the tensor's among all of the checkpoint. It has been checked. */
struct piece
piece_of(const struct manifest *manifest, size_t number, uint32_t place);

/* The first of the places that have the same part as place. */
uint32_t
piece_first_place(const struct hoop_checkpoint_tensor *tensor, uint32_t place);

/* Where the pieces of a place begin in its file, [n_tensors]; returns the
 * bytes of all. */
uint64_t
piece_offsets(const struct manifest *manifest,
              uint32_t place,
              uint64_t *out_offsets);

/* Bytes of a piece with what fills up to the next. */
uint64_t
piece_room(uint64_t n_bytes);

#endif
