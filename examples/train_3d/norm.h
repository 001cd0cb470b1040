/* train_3d/norm.h - divides each row by its root mean square */

#ifndef TRAIN_3D_NORM_H
#define TRAIN_3D_NORM_H

#include "train_3d/matrix.h"

/* out[r][c] = gain[c] * input[r][c] / sqrt(mean over c of input[r][c]^2) */
void
norm_forward(struct matrix input, struct matrix gain, struct matrix out);

/* The gradient of the input is overwritten, and may be out_grad. That of the
 * gain is added to. */
struct norm_gradients {
    struct matrix input;
    struct matrix gain;
};
void
norm_backward(struct matrix input,
              struct matrix gain,
              struct matrix out_grad,
              struct norm_gradients gradients);

#endif
