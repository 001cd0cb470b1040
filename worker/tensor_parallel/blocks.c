/*
 * tensor_parallel/blocks.c - a dense tensor as one block for each rank
 *
 * A block is a tensor with the strides of the whole one. If a single dimension
 * is cut, tensor/axis.h copies all blocks in an order that suits the cache.
 */

#include "tensor_parallel/blocks.h"

#include <assert.h>

#include "base/error.h"
#include "dtype/dtype.h"
#include "tensor/axis.h"
#include "tensor/layout.h"
#include "tensor/operand.h"

uint32_t
cuts_n_blocks(const struct cuts *cuts)
{
    uint32_t count = 1;

    for (uint32_t i = 0; i < cuts->n_cuts; i++)
        count *= cuts->cuts[i].n_parts;
    return count;
}

enum hoop_status
cuts_divide_shape(const struct cuts *cuts, struct hoop_shape *shape)
{
    for (uint32_t i = 0; i < cuts->n_cuts; i++) {
        const struct cut *cut = &cuts->cuts[i];
        size_t *size = &shape->dims[cut->dim];

        if (*size % cut->n_parts != 0)
            return error_raise(HOOP_E_INVALID,
                               "%zu elements along dim %u cannot be cut into "
                               "%u equal parts",
                               *size, cut->dim, cut->n_parts);
        *size /= cut->n_parts;
    }
    return HOOP_OK;
}

enum hoop_status
cuts_multiply_shape(const struct cuts *cuts, struct hoop_shape *shape)
{
    for (uint32_t i = 0; i < cuts->n_cuts; i++) {
        const struct cut *cut = &cuts->cuts[i];
        size_t *size = &shape->dims[cut->dim];

        if (__builtin_mul_overflow(*size, cut->n_parts, size))
            return error_raise(HOOP_E_INVALID,
                               "%u parts along dim %u are more than 2^64 "
                               "elements together",
                               cut->n_parts, cut->dim);
    }
    return HOOP_OK;
}

bool
cuts_is_noncontiguous(const struct cuts *cuts, const struct hoop_shape *whole)
{
    size_t n_outer = 1;

    if (cuts_n_blocks(cuts) == 1)
        return false;
    if (cuts->n_cuts != 1)
        return true;
    for (uint32_t i = 0; i < cuts->cuts[0].dim; i++)
        n_outer *= whole->dims[i];
    return n_outer > 1;
}

/* A block inside the whole tensor. */
struct block_view {
    struct hoop_tensor tensor;
    size_t strides[HOOP_MAX_DIMS];
};

static void
block_view_init(struct block_view *block_view,
                const struct cuts *cuts,
                const struct hoop_tensor *whole,
                uint32_t number)
{
    const struct hoop_shape *shape = &whole->shape;
    size_t offset = 0;
    size_t stride = 1;

    for (uint32_t i = shape->n_dims; i > 0; i--) {
        block_view->strides[i - 1] = stride;
        stride *= shape->dims[i - 1];
    }
    block_view->tensor = *whole;
    block_view->tensor.strides = block_view->strides;
    const enum hoop_status status =
        cuts_divide_shape(cuts, &block_view->tensor.shape);
    assert(status == HOOP_OK);
    (void)status;
    for (uint32_t i = 0; i < cuts->n_cuts; i++) {
        const struct cut *cut = &cuts->cuts[i];

        offset += number % cut->n_parts *
                  block_view->tensor.shape.dims[cut->dim] *
                  block_view->strides[cut->dim];
        number /= cut->n_parts;
    }
    if (stride > 0)
        block_view->tensor.data =
            (uint8_t *)whole->data + offset * dtype_size(whole->dtype);
}

void
block_copy_out(const struct cuts *cuts,
               const struct hoop_tensor *whole,
               uint32_t number,
               void *part)
{
    struct block_view block_view;

    block_view_init(&block_view, cuts, whole, number);
    const struct hoop_tensor to = {
        .data = part, .dtype = whole->dtype, .shape = block_view.tensor.shape};
    layout_copy(&block_view.tensor, &to);
}

void
block_copy_in(const struct cuts *cuts,
              const struct hoop_tensor *whole,
              uint32_t number,
              const void *part)
{
    struct block_view block_view;

    block_view_init(&block_view, cuts, whole, number);
    const struct hoop_tensor from = {.data = (void *)(uintptr_t)part,
                                     .dtype = whole->dtype,
                                     .shape = block_view.tensor.shape};
    layout_copy(&from, &block_view.tensor);
}

/* Finds the only dimension that is cut. Returns false if there are others. */
static bool
single_cut_axis_find(const struct cuts *cuts,
                     const struct hoop_tensor *whole,
                     struct axis *out_axis)
{
    return cuts->n_cuts == 1 &&
           axis_of(&whole->shape, (int32_t)cuts->cuts[0].dim, whole->dtype,
                   out_axis) == HOOP_OK;
}

void
blocks_pack_parts(const struct cuts *cuts,
                  const struct hoop_tensor *whole,
                  void *parts)
{
    const uint32_t n_parts = cuts_n_blocks(cuts);
    const size_t n_bytes = operand_bytes(whole) / n_parts;
    struct axis axis;

    if (n_bytes == 0)
        return;
    if (single_cut_axis_find(cuts, whole, &axis)) {
        axis_divide(&axis, whole->data, n_parts, parts);
        return;
    }
    for (uint32_t i = 0; i < n_parts; i++)
        block_copy_out(cuts, whole, i, (uint8_t *)parts + i * n_bytes);
}

void
blocks_unpack_parts(const struct cuts *cuts,
                    const struct hoop_tensor *whole,
                    const void *parts)
{
    const uint32_t n_parts = cuts_n_blocks(cuts);
    const size_t n_bytes = operand_bytes(whole) / n_parts;
    struct axis axis;

    if (n_bytes == 0)
        return;
    if (single_cut_axis_find(cuts, whole, &axis)) {
        axis_join(&axis, whole->data, n_parts, parts);
        return;
    }
    for (uint32_t i = 0; i < n_parts; i++)
        block_copy_in(cuts, whole, i, (const uint8_t *)parts + i * n_bytes);
}
