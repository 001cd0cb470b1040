/*
 * train_3d/model.h - the part of a language model that this rank computes
 *
 *   bytes -> embedding -> block -> ... -> block -> norm -> scores -> loss
 *            virtual stage 0      ...      last virtual stage
 *
 * A block consists of an attention layer and a perceptron. A rank has one chunk
 * of blocks or, if the pipeline is interleaved, several chunks that are not
 * adjacent.
 */

#ifndef TRAIN_3D_MODEL_H
#define TRAIN_3D_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "hoop/hoop.h"

#include "train_3d/layer.h"
#include "train_3d/parameter.h"
#include "train_3d/text.h"

/* The blocks of a virtual stage. */
struct chunk {
    bool is_first;              /* first of the model; has the next two */
    struct parameter embedding; /* [byte][width] */
    struct parameter positions; /* [position][width] */
    struct layer *layers;
    size_t n_layers;
    bool is_last;            /* last of the model; has the next two */
    struct parameter norm;   /* [1][width] */
    struct parameter output; /* [byte][width] */
    size_t first_parameter;  /* position in the model's list */
    size_t n_parameters;
};

/* What a forward of a chunk keeps for the backward of its micro-batch. */
struct tape {
    struct layer_tape *layers;
    struct matrix result; /* output of the last layer */
    struct matrix normed; /* only used in the last chunk, like scores */
    struct matrix scores; /* replaced with their gradient by the loss */
};

struct model_options {
    struct dimensions dimensions;
    hoop_comm_t *comm; /* the tensor-parallel group; borrowed */
    size_t stage;      /* chunk c is virtual stage c * n_stages + stage */
    size_t n_stages;
    size_t n_chunks;
    size_t n_micro_batches; /* of this rank, per step */
    float factor;           /* gradients are those of the loss times factor */
};

struct model {
    struct model_options options;
    struct chunk *chunks;
    struct tape *tapes; /* [micro_batch][chunk]; empty if not in use */
    struct parameter **parameters; /* those of all chunks */
    size_t n_parameters;
    struct workspace workspace;
    struct matrix gradient; /* of the stream, for one backward at a time */
    double loss;            /* sum over the rows of this rank so far */
};

/* Undo it with model_deinit(). */
void
model_init(struct model *model, const struct model_options *options);
/* It may be called between a forward and its backward, too. */
void
model_deinit(struct model *model);

/* Sets the gradients and the loss to zero. */
void
model_clear(struct model *model);

/* A micro-batch in a chunk. */
struct visit {
    size_t chunk;
    size_t micro_batch;
    const struct token *tokens; /* those of this rank's rows */
};

/* The first virtual stage ignores input, and the last one ignores out. Both are
 * [rows of this rank][width]. */
HOOP_NODISCARD enum hoop_status
model_forward(struct model *model,
              const struct visit *visit,
              struct matrix input,
              struct matrix out);

/* Is called after the forward of the same visit. The last virtual stage ignores
 * out_grad, and the first one ignores input_grad. */
HOOP_NODISCARD enum hoop_status
model_backward(struct model *model,
               const struct visit *visit,
               struct matrix out_grad,
               struct matrix input_grad);

#endif
