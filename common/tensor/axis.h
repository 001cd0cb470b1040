/*
 * tensor/axis.h - a dense tensor, divided along one of its dimensions
 *
 * Seen along a dimension, a tensor is n_outer rows, and a row is length runs of
 * n_inner elements. A part of the tensor along the dimension is one piece of
 * every row. Copying parts out and in is all that splitting, gathering and
 * transposing between ranks need. Parts are dense tensors.
 */

#ifndef TENSOR_AXIS_H
#define TENSOR_AXIS_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/dtype.h"
#include "hoop/tensor.h"

struct axis {
    size_t n_outer; /* product of the dimensions before it */
    size_t length;
    size_t n_inner; /* product of the dimensions after it */
    size_t element_size;
};

/*
 * Set the axis for dimension dim; a negative dim counts from the end. dtype is
 * known. Handle: HOOP_E_INVALID (the shape, no such dimension, more than 2^63
 * bytes).
 */
enum hoop_status
axis_of(const struct hoop_shape *shape,
        int32_t dim,
        enum hoop_dtype dtype,
        struct axis *out_axis);

/* Elements and bytes of n runs of every row. */
size_t
axis_count(const struct axis *axis, size_t n);
size_t
axis_bytes(const struct axis *axis, size_t n);

/* Copy runs first to first + n - 1 of every row of whole to the dense part, or
 * back. axis belongs to whole. The two do not overlap. */
void
axis_take(const struct axis *axis,
          const void *whole,
          size_t first,
          size_t n,
          void *part);
void
axis_put(const struct axis *axis,
         void *whole,
         size_t first,
         size_t n,
         const void *part);

/* Copy all n_parts equal parts, which are stored one after another, out of
 * whole or into it. length is a multiple of n_parts. */
void
axis_divide(const struct axis *axis,
            const void *whole,
            uint32_t n_parts,
            void *parts);
void
axis_join(const struct axis *axis,
          void *whole,
          uint32_t n_parts,
          const void *parts);

#endif
