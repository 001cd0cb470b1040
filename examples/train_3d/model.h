/*
 * train_3d/model.h - a language model, or the part of it that this rank computes
 *
 *   bytes -> embedding -> block -> ... -> block -> norm -> scores -> loss
 *            virtual stage 0      ...      last virtual stage
 *
 * A block is an attention layer and a perceptron. A rank has one chunk of
 * blocks or, when the pipeline is interleaved, several, which are not adjacent.
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
    bool is_first;              /* of the model: it has the two below */
    struct parameter embedding; /* [byte][width] */
    struct parameter positions; /* [position][width] */
    struct layer *layers;
    size_t n_layers;
    bool is_last;            /* of the model: it has these */
    struct parameter norm;   /* [1][width] */
    struct parameter output; /* [byte][width] */
    size_t first_parameter;  /* in the model's list */
    size_t n_parameters;
};

/* What a forward of a chunk leaves for the backward of its micro-batch. */
struct tape {
    struct layer_tape *layers;
    struct matrix result; /* of the last layer */
    struct matrix normed; /* the rest in the last chunk only */
    struct matrix scores; /* their gradient, once the loss is known */
};

struct model_options {
    struct dimensions dimensions;
    hoop_comm_t *comm; /* the tensor-parallel group; borrowed */
    size_t stage;      /* chunk c is virtual stage c * n_stages + stage */
    size_t n_stages;
    size_t n_chunks;
    size_t n_micro_batches; /* of this rank, in a step */
    float factor;           /* gradients are those of the loss times this */
};

struct model {
    struct model_options options;
    struct chunk *chunks;
    struct tape *tapes; /* [micro_batch][chunk]; empty where nothing is due */
    struct parameter **parameters; /* of all chunks */
    size_t n_parameters;
    struct workspace workspace;
    struct matrix gradient; /* of the stream, for one backward at a time */
    double loss;            /* the sum over this rank's rows so far */
};

/* Undo with model_deinit(). */
void
model_init(struct model *model, const struct model_options *options);
/* Also between a forward and its backward. */
void
model_deinit(struct model *model);

/* Gradients and loss are zero again. */
void
model_clear(struct model *model);

/* A micro-batch in a chunk. */
struct visit {
    size_t chunk;
    size_t micro_batch;
    const struct token *tokens; /* of this rank's rows */
};

/* input: of no interest to the first virtual stage; out: not to the last. Both
 * are [rows of this rank][width]. */
HOOP_NODISCARD enum hoop_status
model_forward(struct model *model,
              const struct visit *visit,
              struct matrix input,
              struct matrix out);

/* After the forward of the same visit; out_grad is of no interest to the last
 * virtual stage, input_grad not to the first. */
HOOP_NODISCARD enum hoop_status
model_backward(struct model *model,
               const struct visit *visit,
               struct matrix out_grad,
               struct matrix input_grad);

#endif
