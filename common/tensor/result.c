/* tensor/result.c - a tensor that a call returns */

#include "tensor/result.h"

#include <stdlib.h>

#include "base/error.h"
#include "dtype/dtype.h"
#include "tensor/layout.h"
#include "tensor/operand.h"

enum {
    ALIGNMENT = 64, /* a cache line, and the longest vector */
};

enum hoop_status
result_allocate(enum hoop_dtype dtype,
                const struct hoop_shape *shape,
                struct hoop_tensor *out_tensor)
{
    const size_t element_size = dtype_size(dtype);
    struct hoop_tensor tensor = {.dtype = dtype};
    size_t count;
    size_t n_bytes;

    if (element_size == 0)
        return error_raise(HOOP_E_INVALID, "dtype %d is not known to hoop",
                           (int)dtype);
    const enum hoop_status status = shape_count(shape, &count);
    if (status != HOOP_OK)
        return error_pass(status);
    tensor.shape = *shape;
    if (__builtin_mul_overflow(count, element_size, &n_bytes) ||
        n_bytes > INT64_MAX - ALIGNMENT)
        return error_raise(HOOP_E_EXHAUSTED, "%s of %s has too many bytes",
                           shape_text(shape).text, dtype_name(dtype));
    if (n_bytes > 0) {
        n_bytes = (n_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        tensor.data = aligned_alloc(ALIGNMENT, n_bytes);
        if (!tensor.data)
            return error_raise(HOOP_E_EXHAUSTED, "no memory for %s of %s",
                               shape_text(shape).text, dtype_name(dtype));
    }
    *out_tensor = tensor;
    return HOOP_OK;
}

enum hoop_status
result_check(const struct hoop_tensor *out,
             const char *name,
             enum hoop_dtype dtype,
             const struct hoop_shape *shape)
{
    if (out->dtype == dtype && shape_equal(&out->shape, shape))
        return HOOP_OK;
    return error_raise(HOOP_E_INVALID,
                       "%s is %s of %s, but the result is %s of %s", name,
                       shape_text(&out->shape).text, dtype_name(out->dtype),
                       shape_text(shape).text, dtype_name(dtype));
}

enum hoop_status
result_prepare(struct hoop_tensor *out,
               const char *name,
               enum hoop_dtype dtype,
               const struct hoop_shape *shape,
               struct result *out_result)
{
    enum hoop_status status;

    if (!out)
        return error_raise(HOOP_E_INVALID, "%s is NULL", name);
    const struct result result = {.out = out, .before = *out};
    if (!out->data) {
        status = result_allocate(dtype, shape, out);
    } else {
        status = result_check(out, name, dtype, shape);
        if (status == HOOP_OK)
            status = operand_check(out, name);
    }
    if (status != HOOP_OK)
        return error_pass(status);
    *out_result = result;
    return HOOP_OK;
}

void
result_withdraw(struct result *result)
{
    if (!result->out)
        return;
    if (!result->before.data)
        free(result->out->data);
    *result->out = result->before;
    result->out = NULL;
}
