/* train_3d/matrix.c - matrices of float, and the products of a linear layer */

#include "train_3d/matrix.h"

#include <stdlib.h>
#include <string.h>

#include "train_3d/memory.h"

enum {
    LANES = 8,
};

struct matrix
matrix_create(size_t n_rows, size_t n_columns)
{
    return (struct matrix){
        .at = zeros_create(n_rows * n_columns, sizeof(float)),
        .n_rows = n_rows,
        .n_columns = n_columns,
    };
}

void
matrix_free(struct matrix matrix)
{
    free(matrix.at);
}

struct hoop_tensor
matrix_tensor(struct matrix matrix)
{
    return (struct hoop_tensor){
        .data = matrix.at,
        .dtype = HOOP_FLOAT32,
        .shape = {.n_dims = 2, .dims = {matrix.n_rows, matrix.n_columns}},
    };
}

size_t
matrix_count(struct matrix matrix)
{
    return matrix.n_rows * matrix.n_columns;
}

float *
matrix_row(struct matrix matrix, size_t row)
{
    return matrix.at + row * matrix.n_columns;
}

void
matrix_clear(struct matrix matrix)
{
    memset(matrix.at, 0, matrix_count(matrix) * sizeof(float));
}

void
matrix_copy(struct matrix matrix, struct matrix out)
{
    memcpy(out.at, matrix.at, matrix_count(matrix) * sizeof(float));
}

void
matrix_add(struct matrix sum, struct matrix matrix)
{
    add_scaled(sum.at, matrix.at, 1, matrix_count(matrix));
}

float
dot(const float *a, const float *b, size_t n)
{
    /* The compiler turns several independent sums into vector operations. */
    float sums[LANES] = {0};
    float sum = 0;
    size_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        for (size_t lane = 0; lane < LANES; lane++)
            sums[lane] += a[i + lane] * b[i + lane];
    }
    for (; i < n; i++)
        sum += a[i] * b[i];
    for (size_t lane = 0; lane < LANES; lane++)
        sum += sums[lane];
    return sum;
}

void
add_scaled(float *sum, const float *values, float factor, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += factor * values[i];
}

void
linear_forward(struct matrix input, struct matrix weight, struct matrix out)
{
    for (size_t row = 0; row < out.n_rows; row++) {
        for (size_t column = 0; column < out.n_columns; column++)
            matrix_row(out, row)[column] =
                dot(matrix_row(input, row), matrix_row(weight, column),
                    input.n_columns);
    }
}

void
linear_backward(struct matrix out_grad,
                struct matrix weight,
                struct matrix input_grad)
{
    matrix_clear(input_grad);
    for (size_t row = 0; row < out_grad.n_rows; row++) {
        for (size_t column = 0; column < out_grad.n_columns; column++)
            add_scaled(matrix_row(input_grad, row), matrix_row(weight, column),
                       matrix_row(out_grad, row)[column], weight.n_columns);
    }
}

void
linear_backward_weight(struct matrix out_grad,
                       struct matrix input,
                       struct matrix weight_grad)
{
    for (size_t row = 0; row < out_grad.n_rows; row++) {
        for (size_t column = 0; column < out_grad.n_columns; column++)
            add_scaled(matrix_row(weight_grad, column), matrix_row(input, row),
                       matrix_row(out_grad, row)[column], input.n_columns);
    }
}
