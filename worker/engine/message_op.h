/*
 * engine/message_op.h - messages from rank to rank as operations
 *
 * Private to engine/.
 */

#ifndef ENGINE_MESSAGE_OP_H
#define ENGINE_MESSAGE_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/op.h"

static inline bool
message_is_receive(const struct engine_message *message)
{
    return !(call_row(message->call.name)->parts & CALL_IS_SEND);
}

/* Returns the label that the message's frames carry. */
struct flow_label
message_flow_label(const struct comm_context *context,
                   const struct engine_message *message);

/* Return the message as the transport's send or receive request, without its
 * number and owner. label is borrowed. */
struct send_request
message_send_request(const struct comm_context *context,
                     const struct engine_message *message,
                     const struct flow_label *label);
struct recv_request
message_recv_request(const struct comm_context *context,
                     const struct engine_message *message,
                     const struct flow_label *label);

/* Returns an operation for message that can be submitted; only a send's number
 * is missing. Returns NULL if there is no memory. Thread: any. */
struct op *
message_op_create(struct comm_context *context,
                  const struct engine_message *message);

/* Returns whether receives of that call name hand out allocated memory. */
static inline bool
call_allocates_receive(uint32_t name)
{
    return name == CALL_RECV_ANY_TENSOR || name == CALL_RECV_OBJECT;
}

/* The message has been matched, whatever its size: allocate memory for it, or
 * end op and tell the sender. */
void
receive_allocation_make(struct op *op,
                        const struct frame *frame,
                        const struct frame_tensor *tensor);

#endif
