/* pipeline/ring_forward.c - every rank sends its tensor to the next rank */

#include "hoop/pipeline.h"

#include "api/comm_call.h"
#include "api/tags.h"
#include "api/tensor_message.h"
#include "base/error.h"
#include "tensor/operand.h"
#include "tensor/result.h"

/* The input must remain unchanged. */
static enum hoop_status
tensors_check_disjoint(const struct hoop_tensor *tensor,
                       const struct hoop_tensor *out)
{
    const uintptr_t from = (uintptr_t)tensor->data;
    const uintptr_t to = (uintptr_t)out->data;
    const size_t n_bytes = operand_bytes(tensor);

    if (n_bytes > 0 && from < to + n_bytes && to < from + n_bytes)
        return error_raise(HOOP_E_INVALID, "out and tensor overlap");
    return HOOP_OK;
}

static enum hoop_status
ring_shift_tensor(const struct hoop_tensor *tensor,
                  struct hoop_tensor *out,
                  hoop_comm_t *comm)
{
    const uint32_t size = hoop_comm_size(comm);
    const uint32_t rank = hoop_comm_rank(comm);
    const struct tensor_message messages[] = {
        {
            .kind = HOOP_SEND,
            .tensor = tensor,
            .peer = (rank + 1) % size,
            .tag = tag_of_library_part(TAG_RING, 0),
        },
        {
            .kind = HOOP_RECV,
            .tensor = out,
            .peer = (rank + size - 1) % size,
            .tag = tag_of_library_part(TAG_RING, 0),
        },
    };

    return tensor_message_run(messages, 2, comm);
}

enum hoop_status
hoop_ring_forward(const struct hoop_tensor *tensor,
                  struct hoop_tensor *out,
                  hoop_comm_t *comm)
{
    struct result result;
    bool is_member;
    enum hoop_status status = comm_call_begin(comm, &is_member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_member)
        return HOOP_OK;
    status = operand_check(tensor, "tensor");
    if (status == HOOP_OK)
        status =
            result_prepare(out, "out", tensor->dtype, &tensor->shape, &result);
    if (status != HOOP_OK)
        return error_pass(status);
    status = tensors_check_disjoint(tensor, out);
    if (status == HOOP_OK)
        status = ring_shift_tensor(tensor, out, comm);
    if (status == HOOP_OK)
        return HOOP_OK;
    result_withdraw(&result);
    return error_pass(status);
}
