/* tensor/shape.c - the sizes of a tensor: elements, dimensions, and as text */

#include "tensor/shape.h"

#include <stdio.h>

#include "base/error.h"

enum hoop_status
shape_count(const struct hoop_shape *shape, size_t *out_count)
{
    size_t product = 1;
    bool is_empty = false;

    if (!shape)
        return error_raise(HOOP_E_INVALID, "shape is NULL");
    if (shape->n_dims > HOOP_MAX_DIMS)
        return error_raise(HOOP_E_INVALID,
                           "%u dimensions are more than HOOP_MAX_DIMS, %d",
                           shape->n_dims, HOOP_MAX_DIMS);
    for (uint32_t i = 0; i < shape->n_dims; i++) {
        if (shape->dims[i] == 0)
            is_empty = true;
        else if (__builtin_mul_overflow(product, shape->dims[i], &product) ||
                 product > INT64_MAX)
            return error_raise(HOOP_E_INVALID,
                               "shape %s has more than 2^63 elements",
                               shape_text(shape).text);
    }
    *out_count = is_empty ? 0 : product;
    return HOOP_OK;
}

bool
shape_equal(const struct hoop_shape *a, const struct hoop_shape *b)
{
    if (!a || !b || a->n_dims != b->n_dims)
        return false;
    for (uint32_t i = 0; i < a->n_dims && i < HOOP_MAX_DIMS; i++) {
        if (a->dims[i] != b->dims[i])
            return false;
    }
    return true;
}

enum hoop_status
shape_dim(const struct hoop_shape *shape, int32_t dim, uint32_t *out_dim)
{
    const int64_t n_dims = shape->n_dims;

    if (dim < -n_dims || dim >= n_dims)
        return error_raise(HOOP_E_INVALID,
                           "there is no dim %d in a tensor of %u dimensions",
                           dim, shape->n_dims);
    *out_dim = (uint32_t)(dim < 0 ? dim + n_dims : dim);
    return HOOP_OK;
}

struct shape_text
shape_text(const struct hoop_shape *shape)
{
    struct shape_text text = {.text = "[any]"};
    size_t at = 0;

    if (!shape || shape->n_dims > HOOP_MAX_DIMS)
        return text;
    at += (size_t)snprintf(text.text, sizeof(text.text), "[");
    for (uint32_t i = 0; i < shape->n_dims; i++)
        at += (size_t)snprintf(text.text + at, sizeof(text.text) - at, "%s%zu",
                               i == 0 ? "" : ", ", shape->dims[i]);
    snprintf(text.text + at, sizeof(text.text) - at, "]");
    return text;
}
