/* train_3d/norm.c - divides each row by its root mean square
 *
 * With s = 1 / rms(x): y = g s x, and since s depends on every x of its row,
 * dx = s (g dy) - x s^3 mean(x g dy).
 */

#include "train_3d/norm.h"

#include <math.h>

static float
row_scale(const float *row, size_t n)
{
    /* Keeps a row of zeros from being divided by zero. */
    const float least = 1e-5F;

    return 1 / sqrtf(dot(row, row, n) / (float)n + least);
}

void
norm_forward(struct matrix input, struct matrix gain, struct matrix out)
{
    for (size_t row = 0; row < input.n_rows; row++) {
        const float *x = matrix_row(input, row);
        const float scale = row_scale(x, input.n_columns);

        for (size_t i = 0; i < input.n_columns; i++)
            matrix_row(out, row)[i] = gain.at[i] * scale * x[i];
    }
}

static void
row_backward(const float *x,
             const float *gain,
             const float *out_grad,
             float *input_grad,
             size_t n)
{
    const float scale = row_scale(x, n);
    float slope = 0;

    for (size_t i = 0; i < n; i++)
        slope += x[i] * gain[i] * out_grad[i];
    slope *= scale * scale * scale / (float)n;
    for (size_t i = 0; i < n; i++)
        input_grad[i] = scale * gain[i] * out_grad[i] - slope * x[i];
}

static void
row_backward_gain(const float *x,
                  const float *out_grad,
                  float *gain_grad,
                  size_t n)
{
    const float scale = row_scale(x, n);

    for (size_t i = 0; i < n; i++)
        gain_grad[i] += scale * x[i] * out_grad[i];
}

void
norm_backward(struct matrix input,
              struct matrix gain,
              struct matrix out_grad,
              struct norm_gradients gradients)
{
    const size_t n = input.n_columns;

    for (size_t row = 0; row < input.n_rows; row++) {
        const float *x = matrix_row(input, row);
        const float *slopes = matrix_row(out_grad, row);

        row_backward_gain(x, slopes, gradients.gain.at, n);
        row_backward(x, gain.at, slopes, matrix_row(gradients.input, row), n);
    }
}
