/* train_3d/loss.c - softmax and cross-entropy against the actual next byte */

#include "train_3d/loss.h"

#include <math.h>

static double
row_loss(float *scores, size_t n, size_t right, float factor)
{
    float top = scores[0];
    float total = 0;

    /* The largest score is subtracted, since exp() could overflow without
     * that. */
    for (size_t i = 1; i < n; i++)
        top = fmaxf(top, scores[i]);
    const double loss = top - scores[right];
    for (size_t i = 0; i < n; i++) {
        scores[i] = expf(scores[i] - top);
        total += scores[i];
    }
    for (size_t i = 0; i < n; i++)
        scores[i] *= factor / total;
    scores[right] -= factor;
    return loss + log(total);
}

double
loss_take(struct matrix scores, const struct token *tokens, float factor)
{
    double loss = 0;

    for (size_t row = 0; row < scores.n_rows; row++)
        loss += row_loss(matrix_row(scores, row), scores.n_columns,
                         tokens[row].next, factor);
    return loss;
}
