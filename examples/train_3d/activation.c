/* train_3d/activation.c - the perceptron's nonlinearity: x times its sigmoid */

#include "train_3d/activation.h"

#include <math.h>

static float
sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

void
activation_forward(struct matrix input, struct matrix out)
{
    const size_t n = matrix_count(input);

    for (size_t i = 0; i < n; i++)
        out.at[i] = input.at[i] * sigmoid(input.at[i]);
}

void
activation_backward(struct matrix input,
                    struct matrix out_grad,
                    struct matrix input_grad)
{
    const size_t n = matrix_count(input);

    for (size_t i = 0; i < n; i++) {
        const float open = sigmoid(input.at[i]);
        const float slope = open * (1 + input.at[i] * (1 - open));

        input_grad.at[i] = slope * out_grad.at[i];
    }
}
