/* tensor/layout.h - where the elements of a tensor lie */

#ifndef TENSOR_LAYOUT_H
#define TENSOR_LAYOUT_H

#include <stdbool.h>

#include "hoop/tensor.h"

/* Row-major without gaps; strides of dimensions of one element, and of a
 * tensor of none, say nothing. The shape has been checked. */
bool
layout_is_dense(const struct hoop_tensor *tensor);

/* Copies each element to where it lies in to. Dtypes and shapes are the same
 * and have been checked; the two do not overlap. */
void
layout_copy(const struct hoop_tensor *from, const struct hoop_tensor *to);

#endif
