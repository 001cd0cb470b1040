/* tensor_parallel/target.c - where the result of a move is put */

#include "tensor_parallel/target.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "dtype/dtype.h"
#include "tensor/layout.h"
#include "tensor/operand.h"

/* Memory that one result after the other is put in. */

enum {
    SCRATCH_ALIGNMENT = 64,
};

struct hoop_scratch {
    uint8_t *bytes;
    size_t capacity;
    bool is_lent;
};

enum hoop_status
hoop_scratch_create(hoop_scratch_t **out_scratch)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_scratch)
        return error_raise(HOOP_E_INVALID, "out_scratch is NULL");
    struct hoop_scratch *scratch = calloc(1, sizeof(*scratch));
    if (!scratch)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a scratch");
    *out_scratch = scratch;
    return HOOP_OK;
}

void
hoop_scratch_free(hoop_scratch_t *scratch)
{
    if (!scratch)
        return;
    free(scratch->bytes);
    free(scratch);
}

static bool
scratch_overlaps_tensor(const struct hoop_scratch *scratch,
                        const struct hoop_tensor *tensor)
{
    const uintptr_t first = (uintptr_t)scratch->bytes;
    const uintptr_t at = (uintptr_t)tensor->data;
    const size_t n_bytes = operand_bytes(tensor);

    return n_bytes > 0 && at < first + scratch->capacity &&
           first < at + n_bytes;
}

/* The old content is not copied, since it need not be kept. */
static enum hoop_status
scratch_grow(struct hoop_scratch *scratch, size_t n_bytes)
{
    if (n_bytes <= scratch->capacity)
        return HOOP_OK;
    const size_t capacity = (n_bytes + SCRATCH_ALIGNMENT - 1) /
                            SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT;
    uint8_t *bytes = aligned_alloc(SCRATCH_ALIGNMENT, capacity);
    if (!bytes)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for a scratch of %zu bytes", capacity);
    free(scratch->bytes);
    scratch->bytes = bytes;
    scratch->capacity = capacity;
    return HOOP_OK;
}

enum hoop_status
scratch_acquire(struct hoop_scratch *scratch,
                size_t n_bytes,
                const struct hoop_tensor *tensor,
                void **out_bytes)
{
    if (scratch->is_lent)
        return error_raise(HOOP_E_PRECONDITION,
                           "an operation that has not been waited for uses the "
                           "scratch: wait for it, or give each its own");
    if (scratch_overlaps_tensor(scratch, tensor))
        return error_raise(HOOP_E_INVALID,
                           "the tensor lies in the scratch that its result "
                           "would be put in: use another");
    const enum hoop_status status = scratch_grow(scratch, n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    scratch->is_lent = true;
    *out_bytes = scratch->bytes;
    return HOOP_OK;
}

void
scratch_release(struct hoop_scratch *scratch)
{
    if (scratch)
        scratch->is_lent = false;
}

/* Tensor and result may be the same if their shapes are equal. */
static enum hoop_status
tensors_check_disjoint(const struct hoop_tensor *tensor,
                       const struct hoop_tensor *out,
                       const struct hoop_shape *shape)
{
    if (tensor->data == out->data && shape_equal(&tensor->shape, shape))
        return HOOP_OK;
    if (operands_overlap(tensor, out))
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
