/* train_3d/activation.h - the perceptron's nonlinearity: x times its sigmoid */

#ifndef TRAIN_3D_ACTIVATION_H
#define TRAIN_3D_ACTIVATION_H

#include "train_3d/matrix.h"

void
activation_forward(struct matrix input, struct matrix out);

/* input_grad is overwritten. */
void
activation_backward(struct matrix input,
                    struct matrix out_grad,
                    struct matrix input_grad);

#endif
