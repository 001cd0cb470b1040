/*
 * engine/message_op.c - messages from rank to rank as operations
 *
 * Some receives hand out a tensor or an object whose memory hoop may allocate.
 * The caller's expected tensor is never written to. The received tensor and its
 * memory belong to the operation until the operation has ended well and is
 * waited for; then the waiter hands them out. Otherwise they are freed. If no
 * shape was expected, the progress owner allocates the memory when the message
 * is there.
 */

#include "engine/message_op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dtype/dtype.h"
#include "engine/deadline.h"
#include "engine/failure/mismatch.h"
#include "engine/failure/wait_diagnosis.h"
#include "engine/fault_injection.h"
#include "engine/op_pool.h"
#include "engine/state.h"
#include "tensor/operand.h"
#include "tensor/result.h"

struct flow_label
message_flow_label(const struct comm_context *context,
                   const struct engine_message *message)
{
    return (struct flow_label){
        .epoch = context->engine->roster->epoch,
        /* Of a tensor the shape is compared instead. */
        .signature = message->tensor ? 0 : call_signature(&message->call),
        .tag = message->tag,
        .call = call_to_frame_call(&message->call),
    };
}

struct send_request
message_send_request(const struct comm_context *context,
                     const struct engine_message *message,
                     const struct flow_label *label)
{
    const uint64_t n_bytes =
        message->call.count * dtype_size(message->call.dtype);

    return (struct send_request){
        .key = {.comm = context->id,
                .peer = context->ranks[message->peer],
                .kind = FLOW_MESSAGE},
        .label = label,
        .bytes = message->bytes,
        .total = n_bytes,
        .ready = n_bytes,
    };
}

struct recv_request
message_recv_request(const struct comm_context *context,
                     const struct engine_message *message,
                     const struct flow_label *label)
{
    const bool is_any = message->peer == HOOP_ANY_SOURCE;
    const size_t element_size = dtype_size(message->call.dtype);

    return (struct recv_request){
        .key = {.comm = context->id,
                .peer = is_any ? FLOW_ANY_PEER : context->ranks[message->peer],
                .kind = FLOW_MESSAGE},
        .label = label,
        .place = message->bytes,
        .element_size = element_size,
        .total = message->call.count * element_size,
    };
}

static enum hoop_status
received_tensor_deliver(void *owner)
{
    struct op *op = owner;

    if (op->message.object.bytes) {
        *op->message.object.bytes = op->message.made.data;
        *op->message.object.n_bytes = op->message.made.shape.dims[0];
    } else {
        *op->message.out = op->message.made;
    }
    op->message.made.data = NULL;
    return HOOP_OK;
}

static void
received_tensor_free(void *owner)
{
    struct op *op = owner;

    if (op->message.is_made_owned)
        free(op->message.made.data);
    op->message.made.data = NULL;
}

/* The receive op will hand out what it receives where message says. */
static void
receive_allocation_init(struct op *op, const struct engine_message *message)
{
    op->message.out = message->out;
    op->message.object = message->object;
    op->message.made = (struct hoop_tensor){.data = message->bytes,
                                            .dtype = message->tensor->dtype,
                                            .shape = message->tensor->shape};
    op->message.is_made_owned = message->is_owned || message->object.bytes;
    op->run.chain = (struct chain){.finish = received_tensor_deliver,
                                   .destroy = received_tensor_free,
                                   .owner = op};
}

static void
message_set_tensor(struct op *op, const struct engine_message *message)
{
    if (!message->tensor)
        return;
    op->message.tensor =
        (struct frame_tensor){message->part, message->tensor->shape};
    op->run.label.tensor = &op->message.tensor;
    op->message.is_error_text_payload = message->is_error_text_payload;
    op->message.received_part = message->received_part;
    /* The receiver of an object accepts any length, so the sender needs no
     * confirmation. */
    op->run.label.needs_receiver_confirmation =
        message->call.name != CALL_SEND_OBJECT &&
        message->call.name != CALL_RECV_OBJECT;
    if (message->out || message->object.bytes)
        receive_allocation_init(op, message);
}

static void
message_set_flow(struct op *op, const struct engine_message *message)
{
    struct comm_context *context = op->run.context;
    struct step_flow *flow = &op->message.flow;

    flow->op = op;
    flow->is_receive = message_is_receive(message);
    if (flow->is_receive) {
        op->message.received = message->received;
        flow->in = message_recv_request(context, message, &op->run.label);
        flow->in.owner = flow;
    } else {
        op->message.next_message_number =
            &context->next_message_number[message->peer];
        flow->out = message_send_request(context, message, &op->run.label);
        flow->out.owner = flow;
    }
}

struct op *
message_op_create(struct comm_context *context,
                  const struct engine_message *message)
{
    struct op *op = op_alloc(context, NULL);

    if (!op)
        return NULL;
    memset(&op->message, 0, sizeof(op->message));
    if (op->run.wait.purpose) {
        op->run.wait.purpose = NULL;
        straggler_warning_plan(op);
    }
    op->run.wait.next_query_ns =
        message_next_query_ns(op, op->run.wait.started_ns);
    op->run.element_size = dtype_size(message->call.dtype);
    op->run.label = message_flow_label(context, message);
    /* Fault rules do not count the library's own messages. */
    if (message->tag != CALL_TAG_LIBRARY_INTERNAL)
        op->run.label.faults =
            faults_of_call(context->engine, message->call.name);
    message_set_tensor(op, message);
    message_set_flow(op, message);
    return op;
}

static enum hoop_status
allocate_received(struct op *op,
                  const struct frame *frame,
                  const struct frame_tensor *tensor)
{
    if (frame->total > (uint64_t)LIMIT_TENSOR)
        return error_raise(HOOP_E_EXHAUSTED,
                           "hoop allocates 2^40 bytes at most");
    return result_allocate((enum hoop_dtype)frame->call.dtype, &tensor->shape,
                           &op->message.made);
}

void
receive_allocation_make(struct op *op,
                        const struct frame *frame,
                        const struct frame_tensor *tensor)
{
    struct recv_request *in = &op->message.flow.in;
    const enum hoop_status status = allocate_received(op, frame, tensor);

    if (status != HOOP_OK) {
        receive_mismatch_report_memory(op, frame, tensor, error_text());
        return;
    }
    op->run.element_size = dtype_size(op->message.made.dtype);
    in->element_size = op->run.element_size;
    in->place = op->message.made.data;
}
