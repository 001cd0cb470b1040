/* train_3d/loss.h - softmax and cross-entropy against the byte that came */

#ifndef TRAIN_3D_LOSS_H
#define TRAIN_3D_LOSS_H

#include "train_3d/matrix.h"
#include "train_3d/text.h"

/*
 * The sum over rows of -log p(row's next byte). scores has a row for each token
 * and a column for each byte; it becomes the gradient of the loss times factor.
 */
double
loss_take(struct matrix scores, const struct token *tokens, float factor);

#endif
