/* tensor/layout.h - the positions of a tensor's elements in memory */

#ifndef TENSOR_LAYOUT_H
#define TENSOR_LAYOUT_H

#include <stdbool.h>

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

#endif
