/* train_3d/matrix.h - matrices of float, and the products of a linear layer */

#ifndef TRAIN_3D_MATRIX_H
#define TRAIN_3D_MATRIX_H

#include <stddef.h>

#include "hoop/hoop.h"

/* The rows follow each other in memory. A matrix owns nothing and is passed by
 * value. */
struct matrix {
    float *at;
    size_t n_rows;
    size_t n_columns;
};

/* Returns zeros, to be freed with matrix_free(). */
struct matrix
matrix_create(size_t n_rows, size_t n_columns);
void
matrix_free(struct matrix matrix);

/* Describes the same floats to hoop. */
struct hoop_tensor
matrix_tensor(struct matrix matrix);

size_t
matrix_count(struct matrix matrix);
float *
matrix_row(struct matrix matrix, size_t row);
void
matrix_clear(struct matrix matrix);
/* Copies the elements to out, which has the same size. */
void
matrix_copy(struct matrix matrix, struct matrix out);
/* sum += matrix */
void
matrix_add(struct matrix sum, struct matrix matrix);

/* The sum of a[i] * b[i]. */
float
dot(const float *a, const float *b, size_t n);
/* sum[i] += factor * values[i] */
void
add_scaled(float *sum, const float *values, float factor, size_t n);

/*
 * In a linear layer, each row of weight makes one column of the output:
 *
 *   out[rows][outputs] = input[rows][inputs] * weight[outputs][inputs]'
 */
void
linear_forward(struct matrix input, struct matrix weight, struct matrix out);

/* input_grad = out_grad * weight */
void
linear_backward(struct matrix out_grad,
                struct matrix weight,
                struct matrix input_grad);

/* weight_grad += out_grad' * input */
void
linear_backward_weight(struct matrix out_grad,
                       struct matrix input,
                       struct matrix weight_grad);

#endif
