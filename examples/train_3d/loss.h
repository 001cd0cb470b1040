/* train_3d/loss.h - softmax and cross-entropy against the actual next byte */

#ifndef TRAIN_3D_LOSS_H
#define TRAIN_3D_LOSS_H

#include "train_3d/matrix.h"
#include "train_3d/text.h"

/*
 * Returns the sum over the rows of -log p(the row's next byte). scores has a
 * row for each token and a column for each byte. It is replaced with the
 * gradient of the loss, times factor.
 */
double
loss_take(struct matrix scores, const struct token *tokens, float factor);

#endif
