/*
 * tensor/layout.c - the positions of a tensor's elements in memory
 *
 * A copy walks both tensors at once. Neighbouring dimensions that are
 * contiguous in both (the outer stride covers exactly the inner dimension) are
 * merged first, so that two dense tensors become one run.
 */

#include "tensor/layout.h"

#include <string.h>

#include "dtype/dtype.h"

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
struct walk {
    size_t element_size;
    uint32_t n_dims;
    struct walk_dim {
        size_t size;
        size_t from;
        size_t to;
    } dims[HOOP_MAX_DIMS + 1];
};

static void
walk_add(struct walk *walk, struct walk_dim dim)
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
static struct walk
walk_of(const struct hoop_tensor *from, const struct hoop_tensor *to)
{
    const struct hoop_shape *shape = &from->shape;
    const size_t element_size = dtype_size(from->dtype);
    struct walk walk = {
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
walk_copy(const struct walk *walk,
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
    const struct walk walk = walk_of(from, to);

    for (uint32_t i = 0; i < from->shape.n_dims; i++) {
        if (from->shape.dims[i] == 0)
            return;
    }
    walk_copy(&walk, walk.n_dims, from->data, to->data);
}
