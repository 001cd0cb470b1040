/* api/tensor.c - public functions on local tensors */

#include "hoop/tensor.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tensor/layout.h"
#include "tensor/operand.h"
#include "tensor/result.h"
#include "tensor/shape.h"

enum hoop_status
hoop_shape_count(const struct hoop_shape *shape, size_t *out_count)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_count)
        return error_raise(HOOP_E_INVALID, "out_count is NULL");
    const enum hoop_status status = shape_count(shape, out_count);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

bool
hoop_shape_equal(const struct hoop_shape *a, const struct hoop_shape *b)
{
    return shape_equal(a, b);
}

enum hoop_status
hoop_tensor_create(enum hoop_dtype dtype,
                   const struct hoop_shape *shape,
                   struct hoop_tensor *out_tensor)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_tensor)
        return error_raise(HOOP_E_INVALID, "out_tensor is NULL");
    const enum hoop_status status = result_allocate(dtype, shape, out_tensor);
    if (status != HOOP_OK)
        return error_pass(status);
    if (out_tensor->data)
        memset(out_tensor->data, 0, operand_bytes(out_tensor));
    return HOOP_OK;
}

void
hoop_tensor_free(struct hoop_tensor *tensor)
{
    if (!tensor)
        return;
    free(tensor->data);
    tensor->data = NULL;
}

bool
hoop_tensor_is_dense(const struct hoop_tensor *tensor)
{
    return tensor && tensor->shape.n_dims <= HOOP_MAX_DIMS &&
           layout_is_dense(tensor);
}

/* Only this function accepts a result with strides. */
static enum hoop_status
copy_output_prepare(const struct hoop_tensor *tensor, struct hoop_tensor *out)
{
    struct result result;
    enum hoop_status status;

    if (!out)
        return error_raise(HOOP_E_INVALID, "out is NULL");
    if (!out->data)
        return result_prepare(out, "out", tensor->dtype, &tensor->shape,
                              &result);
    status = result_check(out, "out", tensor->dtype, &tensor->shape);
    if (status == HOOP_OK)
        status = operand_check_strided(out, "out");
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_tensor_copy(const struct hoop_tensor *tensor, struct hoop_tensor *out)
{
    enum hoop_status status;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    status = operand_check_strided(tensor, "tensor");
    if (status == HOOP_OK)
        status = copy_output_prepare(tensor, out);
    if (status != HOOP_OK)
        return error_pass(status);
    layout_copy(tensor, out);
    return HOOP_OK;
}
