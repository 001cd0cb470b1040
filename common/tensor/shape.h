/* tensor/shape.h - the sizes of a tensor: elements, dimensions, and as text */

#ifndef TENSOR_SHAPE_H
#define TENSOR_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/tensor.h"

/*
 * The product of the sizes. The product of all sizes except zeros is limited
 * too, so that no partial product overflows. Handle: HOOP_E_INVALID (NULL, too
 * many dimensions, too many elements).
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
