/*
 * train_3d/layer.h - half a transformer block, divided by tensor parallelism
 *
 *   input -> norm -> [ first linear -> middle -> second linear ] -> + input
 *                     by columns                 by rows
 *
 * Attention and the perceptron differ only in their middle. Both middles work
 * on a part of the columns without communication. Two linear layers make this
 * possible: the second takes in parts what the first leaves in parts. The
 * brackets are the region in which ranks do different things
 * (train_3d/region.h).
 */

#ifndef TRAIN_3D_LAYER_H
#define TRAIN_3D_LAYER_H

#include <stdint.h>

#include "hoop/hoop.h"

#include "train_3d/attention.h"
#include "train_3d/parameter.h"
#include "train_3d/region.h"

/* The sizes of the model, and the part of it that this rank has. */
struct dimensions {
    size_t n_blocks;
    size_t width;  /* columns of the stream that layers add to */
    size_t hidden; /* cells of a perceptron */
    size_t n_heads;
    size_t n_positions; /* per window */
    size_t n_windows;   /* per micro-batch */
    size_t part;        /* rank in the tensor-parallel group */
    size_t n_parts;     /* size of that group */
    enum region_rows rows;
    uint64_t seed;
};

/* Returns the rows that this rank has outside of regions, of those of a
 * micro-batch. */
struct span
dimensions_rows(const struct dimensions *dimensions);

enum layer_kind {
    LAYER_ATTENTION,
    LAYER_PERCEPTRON,
};

struct layer {
    enum layer_kind kind;
    struct parameter norm;
    struct parameter first;  /* [part of the outputs][width] */
    struct parameter second; /* [width][part of the inputs] */
    struct attention attention;
};

/* number is that of the block. Undo it with layer_deinit(). */
void
layer_init(struct layer *layer,
           enum layer_kind kind,
           const struct dimensions *dimensions,
           size_t number);
void
layer_deinit(struct layer *layer);

/* What a forward keeps for the backward of the same micro-batch. */
struct layer_tape {
    struct matrix input; /* the caller writes it before the forward */
    struct matrix normed;
    struct matrix first;
    struct matrix middle;
    struct matrix weights; /* those of attention */
};

void
layer_tape_init(struct layer_tape *tape,
                const struct layer *layer,
                const struct dimensions *dimensions);
void
layer_tape_deinit(struct layer_tape *tape);

/* Memory that no backward needs, and that one layer after the other uses. */
struct workspace {
    struct region region;
    struct matrix mine;  /* [rows of this rank][width] */
    struct matrix all;   /* [rows][width] */
    struct matrix inner; /* [rows][columns of any first linear] */
    struct matrix outer; /* [rows][columns of any second linear] */
};

void
workspace_init(struct workspace *workspace,
               const struct dimensions *dimensions,
               hoop_comm_t *comm);
void
workspace_deinit(struct workspace *workspace);

/* Computes out from tape->input. Both have the same number of rows. */
HOOP_NODISCARD enum hoop_status
layer_forward(const struct layer *layer,
              struct layer_tape *tape,
              struct workspace *workspace,
              struct matrix out);

/* gradient is that of the output, and is replaced with that of the input. The
 * gradients of the parameters are added to. */
HOOP_NODISCARD enum hoop_status
layer_backward(struct layer *layer,
               const struct layer_tape *tape,
               struct workspace *workspace,
               struct matrix gradient);

#endif
