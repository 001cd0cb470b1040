/* tensor/layout.h - the shape of a tensor, and where its elements are in
 * memory */

#ifndef TENSOR_LAYOUT_H
#define TENSOR_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/tensor.h"

/* Return whether it is row-major without gaps. Strides of dimensions of one
 * element do not matter, nor any strides of an empty tensor. The shape has been
 * checked. */
bool
layout_is_dense(const struct hoop_tensor *tensor);

/* Copy each element to its position in to. Dtypes and shapes are equal and have
 * been checked; the two do not overlap. */
void
layout_copy(const struct hoop_tensor *from, const struct hoop_tensor *to);

/*
 * Return the number of elements, the product of the sizes. The product of all
 * sizes except zeros is limited too, so that no partial product overflows.
 * Handle: HOOP_E_INVALID (NULL, too many dimensions, too many elements).
 */
enum hoop_status
shape_count(const struct hoop_shape *shape, size_t *out_count);

/* NULL equals nothing. */
bool
shape_equal(const struct hoop_shape *a, const struct hoop_shape *b);

/* Convert dim, which may count from the end (-1 is the last dimension). Handle:
 * HOOP_E_INVALID (there is no such dimension). */
enum hoop_status
shape_dim(const struct hoop_shape *shape, int32_t dim, uint32_t *out_dim);

/* "[2, 3]", for error texts: shape_text(&shape).text. n_dims may be any, and
 * the shape may be NULL. */
struct shape_text {
    char text[HOOP_MAX_DIMS * 22 + 16];
};

struct shape_text
shape_text(const struct hoop_shape *shape);

#endif
