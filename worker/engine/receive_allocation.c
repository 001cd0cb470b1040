/*
 * engine/receive_allocation.c - the memory of received tensors and objects
 *
 * The caller's expected tensor is never written to. The received tensor and its
 * memory belong to the operation until the operation has ended well and is
 * waited for; then the waiter hands them out. Otherwise they are freed. If no
 * shape was expected, the progress owner allocates the memory when the message
 * is there.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "dtype/dtype.h"
#include "engine/state.h"
#include "tensor/result.h"

static enum hoop_status
hand_out(void *owner)
{
    struct op *op = owner;

    if (op->object.bytes) {
        *op->object.bytes = op->made.data;
        *op->object.n_bytes = op->made.shape.dims[0];
    } else {
        *op->out = op->made;
    }
    op->made.data = NULL;
    return HOOP_OK;
}

static void
take_back(void *owner)
{
    struct op *op = owner;

    if (op->is_made_owned)
        free(op->made.data);
    op->made.data = NULL;
}

void
receive_allocation_expect(struct op *op, const struct engine_message *message)
{
    op->out = message->out;
    op->object = message->object;
    op->made = (struct hoop_tensor){.data = message->bytes,
                                    .dtype = message->tensor->dtype,
                                    .shape = message->tensor->shape};
    op->is_made_owned = message->is_owned || message->object.bytes;
    op->chain =
        (struct chain){.finish = hand_out, .destroy = take_back, .owner = op};
}

static enum hoop_status
allocate(struct op *op,
         const struct frame *frame,
         const struct frame_tensor *tensor)
{
    if (frame->total > (uint64_t)LIMIT_TENSOR)
        return error_raise(HOOP_E_EXHAUSTED,
                           "hoop allocates 2^40 bytes at most");
    return result_allocate((enum hoop_dtype)frame->call.dtype, &tensor->shape,
                           &op->made);
}

void
receive_allocation_begin(struct op *op,
                         const struct frame *frame,
                         const struct frame_tensor *tensor)
{
    struct recv_request *in = &op->message.in;
    const enum hoop_status status = allocate(op, frame, tensor);

    if (status != HOOP_OK) {
        receive_mismatch_memory(op, frame, tensor, error_text());
        return;
    }
    op->element_size = dtype_size(op->made.dtype);
    in->element_size = op->element_size;
    in->place = op->made.data;
}
