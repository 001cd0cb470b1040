/* tensor/operand.c - checks a tensor passed to a call */

#include "tensor/operand.h"

#include <stdint.h>

#include "base/error.h"
#include "dtype/dtype.h"
#include "tensor/layout.h"

/* Check the range from the first byte to the last. */
static enum hoop_status
check_extent(const struct hoop_tensor *tensor, const char *name)
{
    const struct hoop_shape *shape = &tensor->shape;
    size_t last = 0;

    for (uint32_t i = 0; i < shape->n_dims; i++) {
        size_t step;

        if (__builtin_mul_overflow(shape->dims[i] - 1, tensor->strides[i],
                                   &step) ||
            __builtin_add_overflow(last, step, &last) ||
            last >= INT64_MAX / dtype_size(tensor->dtype))
            return error_raise(HOOP_E_INVALID,
                               "%s: stride %zu of dim %u is too large", name,
                               tensor->strides[i], i);
    }
    return HOOP_OK;
}

static enum hoop_status
check_sizes(const struct hoop_tensor *tensor,
            const char *name,
            size_t *out_count)
{
    size_t n_bytes;

    if (dtype_size(tensor->dtype) == 0)
        return error_raise(HOOP_E_INVALID, "%s: dtype %d is not known to hoop",
                           name, (int)tensor->dtype);
    const enum hoop_status status = shape_count(&tensor->shape, out_count);
    if (status != HOOP_OK)
        return error_pass(status);
    if (__builtin_mul_overflow(*out_count, dtype_size(tensor->dtype),
                               &n_bytes) ||
        n_bytes > INT64_MAX)
        return error_raise(HOOP_E_INVALID,
                           "%s: %zu elements of %s are too many", name,
                           *out_count, dtype_name(tensor->dtype));
    return HOOP_OK;
}

enum hoop_status
operand_check_strided(const struct hoop_tensor *tensor, const char *name)
{
    size_t count;

    if (!tensor)
        return error_raise(HOOP_E_INVALID, "%s is NULL", name);
    enum hoop_status status = check_sizes(tensor, name, &count);
    if (status != HOOP_OK)
        return error_pass(status);
    if (count == 0)
        return HOOP_OK;
    if (!tensor->data)
        return error_raise(HOOP_E_INVALID, "%s has no data", name);
    if (!tensor->strides)
        return HOOP_OK;
    status = check_extent(tensor, name);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
operand_check(const struct hoop_tensor *tensor, const char *name)
{
    const enum hoop_status status = operand_check_strided(tensor, name);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!layout_is_dense(tensor))
        return error_raise(HOOP_E_INVALID,
                           "%s does not lie dense and row-major: pack it with "
                           "hoop_tensor_copy()",
                           name);
    return HOOP_OK;
}

size_t
operand_count(const struct hoop_tensor *tensor)
{
    size_t count = 1;

    for (uint32_t i = 0; i < tensor->shape.n_dims; i++)
        count *= tensor->shape.dims[i];
    return count;
}

size_t
operand_bytes(const struct hoop_tensor *tensor)
{
    return operand_count(tensor) * dtype_size(tensor->dtype);
}

bool
operands_overlap(const struct hoop_tensor *one, const struct hoop_tensor *other)
{
    const uintptr_t one_begin = (uintptr_t)one->data;
    const uintptr_t other_begin = (uintptr_t)other->data;
    const size_t one_bytes = operand_bytes(one);
    const size_t other_bytes = operand_bytes(other);

    return one_bytes > 0 && other_bytes > 0 &&
           one_begin < other_begin + other_bytes &&
           other_begin < one_begin + one_bytes;
}
