/*
 * tensor/layout.c - the shape of a tensor, and where its elements are in memory
 *
 * A copy walks both tensors at once. Neighbouring dimensions that are
 * contiguous in both (the outer stride covers exactly the inner dimension) are
 * merged first, so that two dense tensors become one run.
 */

#include "tensor/layout.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "dtype/dtype.h"

/* Count, compare and print the sizes of a tensor. */

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

/* Find and copy the elements. */

bool
layout_is_dense(const struct hoop_tensor *tensor)
{
    const struct hoop_shape *shape = &tensor->shape;
    size_t expected = 1;
    bool is_dense = true;

    if (!tensor->strides)
        return true;
    for (uint32_t i = shape->n_dims; i > 0; i--) {
        if (shape->dims[i - 1] == 0)
            return true;
        if (shape->dims[i - 1] > 1)
            is_dense = is_dense && tensor->strides[i - 1] == expected;
        expected *= shape->dims[i - 1];
    }
    return is_dense;
}

/* Dimensions of both tensors, innermost first. Strides are in bytes. */
struct strided_walk {
    size_t element_size;
    uint32_t n_dims;
    struct walk_dim {
        size_t size;
        size_t from;
        size_t to;
    } dims[HOOP_MAX_DIMS + 1];
};

static void
walk_add(struct strided_walk *walk, struct walk_dim dim)
{
    struct walk_dim *inner = &walk->dims[walk->n_dims - 1];

    if (dim.size == 1)
        return;
    if (inner->size * inner->from == dim.from &&
        inner->size * inner->to == dim.to)
        inner->size *= dim.size;
    else
        walk->dims[walk->n_dims++] = dim;
}

/* The innermost dimension is the bytes of an element. */
static struct strided_walk
walk_of(const struct hoop_tensor *from, const struct hoop_tensor *to)
{
    const struct hoop_shape *shape = &from->shape;
    const size_t element_size = dtype_size(from->dtype);
    struct strided_walk walk = {
        .element_size = element_size,
        .n_dims = 1,
        .dims = {{.size = element_size, .from = 1, .to = 1}},
    };
    size_t dense = element_size;

    for (uint32_t i = shape->n_dims; i > 0; i--) {
        const uint32_t at = i - 1;

        walk_add(&walk,
                 (struct walk_dim){
                     .size = shape->dims[at],
                     .from = from->strides ? from->strides[at] * element_size
                                           : dense,
                     .to = to->strides ? to->strides[at] * element_size : dense,
                 });
        dense *= shape->dims[at];
    }
    return walk;
}

static inline void
runs_copy(const struct walk_dim *dim,
          size_t n_bytes,
          const uint8_t *from,
          uint8_t *to)
{
    for (size_t i = 0; i < dim->size; i++)
        memcpy(to + i * dim->to, from + i * dim->from, n_bytes);
}

/* Copy runs of n_bytes; single elements are the common case. */
static void
walk_runs(const struct walk_dim *dim,
          size_t n_bytes,
          const uint8_t *from,
          uint8_t *to)
{
    switch (n_bytes) {
    case 2:
        runs_copy(dim, 2, from, to);
        return;
    case 4:
        runs_copy(dim, 4, from, to);
        return;
    case 8:
        runs_copy(dim, 8, from, to);
        return;
    default:
        runs_copy(dim, n_bytes, from, to);
        return;
    }
}

/* Recursion is at most HOOP_MAX_DIMS deep. */
static void
walk_copy(const struct strided_walk *walk,
          uint32_t n_dims,
          const uint8_t *from,
          uint8_t *to)
{
    const struct walk_dim *dim = &walk->dims[n_dims - 1];

    if (n_dims == 1) {
        memcpy(to, from, dim->size);
    } else if (n_dims == 2) {
        walk_runs(dim, walk->dims[0].size, from, to);
    } else {
        for (size_t i = 0; i < dim->size; i++)
            walk_copy(walk, n_dims - 1, from + i * dim->from, to + i * dim->to);
    }
}

void
layout_copy(const struct hoop_tensor *from, const struct hoop_tensor *to)
{
    const struct strided_walk walk = walk_of(from, to);

    for (uint32_t i = 0; i < from->shape.n_dims; i++) {
        if (from->shape.dims[i] == 0)
            return;
    }
    walk_copy(&walk, walk.n_dims, from->data, to->data);
}
