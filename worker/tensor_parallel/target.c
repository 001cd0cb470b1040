/* tensor_parallel/target.c - where the result of a move is put */

#include "tensor_parallel/target.h"

#include <stdint.h>

#include "base/error.h"
#include "dtype/dtype.h"
#include "tensor/operand.h"
#include "tensor/shape.h"
#include "tensor_parallel/scratch.h"

/* Tensor and result may be the same if their shapes are equal. */
static enum hoop_status
tensors_check_disjoint(const struct hoop_tensor *tensor,
                       const struct hoop_tensor *out,
                       const struct hoop_shape *shape)
{
    const uintptr_t from = (uintptr_t)tensor->data;
    const uintptr_t to = (uintptr_t)out->data;
    const size_t n_from = operand_bytes(tensor);
    const size_t n_to = operand_bytes(out);

    if (n_from == 0 || n_to == 0 ||
        (from == to && shape_equal(&tensor->shape, shape)))
        return HOOP_OK;
    if (from < to + n_to && to < from + n_from)
        return error_raise(HOOP_E_INVALID,
                           "the result overlaps the tensor: give it memory of "
                           "its own, or none");
    return HOOP_OK;
}

/* Puts the result in the scratch. */
static enum hoop_status
output_target_use_scratch(const struct move_call *call,
                          const struct hoop_shape *shape,
                          struct hoop_tensor *out)
{
    struct hoop_tensor tensor = {.dtype = call->tensor->dtype, .shape = *shape};
    size_t n_bytes;
    size_t count;

    if (out->data)
        return error_raise(HOOP_E_INVALID,
                           "the result is put in the scratch, but has data: "
                           "set it to NULL");
    enum hoop_status status = shape_count(shape, &count);
    if (status != HOOP_OK)
        return error_pass(status);
    if (__builtin_mul_overflow(count, dtype_size(tensor.dtype), &n_bytes) ||
        n_bytes > INT64_MAX)
        return error_raise(HOOP_E_EXHAUSTED, "%s of %s has too many bytes",
                           shape_text(shape).text, dtype_name(tensor.dtype));
    status =
        scratch_acquire(call->scratch, n_bytes, call->tensor, &tensor.data);
    if (status != HOOP_OK)
        return error_pass(status);
    *out = tensor;
    return HOOP_OK;
}

enum hoop_status
output_target_prepare(const struct move_call *call,
                      const struct hoop_shape *shape,
                      struct target *out_target)
{
    struct target target = {.scratch = call->scratch};
    struct hoop_tensor *out = call->out;
    enum hoop_status status;

    if (!out)
        return error_raise(HOOP_E_INVALID, "out is NULL");
    if (call->scratch) {
        target.result = (struct result){.out = out, .before = *out};
        status = output_target_use_scratch(call, shape, out);
    } else {
        const struct hoop_tensor tensor = *call->tensor;

        status =
            result_prepare(out, "out", tensor.dtype, shape, &target.result);
        if (status == HOOP_OK)
            status = tensors_check_disjoint(&tensor, out, shape);
        if (status != HOOP_OK)
            result_withdraw(&target.result);
    }
    if (status != HOOP_OK)
        return error_pass(status);
    *out_target = target;
    return HOOP_OK;
}

void
output_target_withdraw(struct target *target)
{
    if (!target->scratch) {
        result_withdraw(&target->result);
        return;
    }
    scratch_release(target->scratch);
    *target->result.out = target->result.before;
}
