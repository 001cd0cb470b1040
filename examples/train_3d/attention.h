/* train_3d/attention.h - softmax attention to the positions so far */

#ifndef TRAIN_3D_ATTENTION_H
#define TRAIN_3D_ATTENTION_H

#include <stddef.h>

#include "train_3d/matrix.h"

/*
 * The rows are the positions of n_sequences sequences, one sequence after the
 * other. A row of input has a query, a key and a value for each head, head by
 * head, so that a part of the columns is a part of the heads. A row of out has
 * a mixed value for each head.
 */
struct attention {
    size_t n_sequences;
    size_t n_positions;
    size_t n_heads;
    size_t head_width;
};

/* Returns how many weights there are. backward needs them again. */
size_t
attention_weights(const struct attention *attention);

void
attention_forward(const struct attention *attention,
                  struct matrix input,
                  float *weights,
                  struct matrix out);

/* The input and the weights of forward. The gradient of the input is
 * overwritten. */
struct attention_tape {
    struct matrix input;
    const float *weights;
};
void
attention_backward(const struct attention *attention,
                   const struct attention_tape *tape,
                   struct matrix out_grad,
                   struct matrix input_grad);

#endif
