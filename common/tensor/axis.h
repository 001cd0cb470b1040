/*
 * tensor/axis.h - a dense tensor seen along one of its dimensions
 *
 * From there it is n_outer rows, and a row is length runs of n_inner elements.
 * A part of the tensor along the dimension is one piece of every row: taking it
 * out and putting it back are all that cutting, gathering and transposing
 * between ranks need. Parts are dense tensors themselves.
 */

#ifndef TENSOR_AXIS_H
#define TENSOR_AXIS_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/dtype.h"
#include "hoop/tensor.h"

struct axis {
    size_t n_outer; /* the product of the dimensions before it */
    size_t length;
    size_t n_inner; /* ... and behind it */
    size_t element_size;
};

/*
 * The axis of dimension dim, negative from the end. dtype is known.
 * Handle: HOOP_E_INVALID (the shape, no such dimension, more than 2^63 bytes).
 */
enum hoop_status
axis_of(const struct hoop_shape *shape,
        int32_t dim,
        enum hoop_dtype dtype,
        struct axis *out_axis);

/* Elements and bytes of n of the runs in every row. */
size_t
axis_count(const struct axis *axis, size_t n);
size_t
axis_bytes(const struct axis *axis, size_t n);

/* Copies runs first to first + n - 1 of every row of whole, whose axis it is,
 * to the dense part, or from it. The two do not overlap. */
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

/* All of n_parts equal parts, of which length is a multiple, to or from where
 * they lie one behind the other. */
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
