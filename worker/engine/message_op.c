/* engine/message_op.c - messages from rank to rank as operations */

#include "engine/message_op.h"

#include <string.h>

#include "dtype/dtype.h"
#include "engine/state.h"
#include "engine/wait_diagnosis.h"

bool
message_is_receive(const struct engine_message *message)
{
    static const uint32_t sends =
        1U << CALL_SEND | 1U << CALL_SEND_TENSOR | 1U << CALL_SEND_OBJECT;

    return !(sends & 1U << message->call.name);
}

struct flow_label
message_label(const struct comm_context *context,
              const struct engine_message *message)
{
    return (struct flow_label){
        .epoch = context->engine->roster->epoch,
        /* Of a tensor the shape is compared instead. */
        .signature = message->tensor ? 0 : call_signature(&message->call),
        .tag = message->tag,
        .call = call_frame(&message->call),
    };
}

struct send_request
message_outflow(const struct comm_context *context,
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
message_inflow(const struct comm_context *context,
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

static void
set_tensor(struct op *op, const struct engine_message *message)
{
    if (!message->tensor)
        return;
    op->tensor = (struct frame_tensor){message->part, message->tensor->shape};
    op->label.tensor = &op->tensor;
    op->is_refusal = message->is_refusal;
    op->received_part = message->received_part;
    /* The receiver of an object accepts any length, so the sender needs no
     * confirmation. */
    op->label.is_confirmed = message->call.name != CALL_SEND_OBJECT &&
                             message->call.name != CALL_RECV_OBJECT;
    if (message->out || message->object.bytes)
        receive_allocation_expect(op, message);
}

static void
set_flow(struct op *op, const struct engine_message *message)
{
    struct comm_context *context = op->context;

    memset(&op->message, 0, sizeof(op->message));
    op->message.op = op;
    op->message.is_receive = message_is_receive(message);
    if (op->message.is_receive) {
        op->received = message->received;
        op->number = 0;
        op->message.in = message_inflow(context, message, &op->label);
        op->message.in.owner = &op->message;
    } else {
        op->message_next = &context->message_next[message->peer];
        op->message.out = message_outflow(context, message, &op->label);
        op->message.out.owner = &op->message;
    }
}

struct op *
message_take(struct comm_context *context, const struct engine_message *message)
{
    struct op *op = op_take(context, NULL);

    if (!op)
        return NULL;
    op->is_message = true;
    if (op->purpose) {
        op->purpose = NULL;
        straggler_plan(op);
    }
    op->ask_ns = message_asks_ns(op, op->started_ns);
    op->element_size = dtype_size(message->call.dtype);
    op->label = message_label(context, message);
    op->call = op->label.call;
    /* Fault rules do not count the library's own messages. */
    if (message->tag != CALL_TAG_OWN)
        op->label.faults = faults_of_call(context->engine, message->call.name);
    set_tensor(op, message);
    set_flow(op, message);
    return op;
}
