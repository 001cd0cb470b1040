/* engine/message_op.h - messages from rank to rank as operations; private */

#ifndef ENGINE_MESSAGE_OP_H
#define ENGINE_MESSAGE_OP_H

#include <stdbool.h>

#include "engine/engine.h"
#include "engine/op.h"
#include "transport/flow.h"

bool
message_is_receive(const struct engine_message *message);

/* Returns the label that the message's frames carry. */
struct flow_label
message_label(const struct comm_context *context,
              const struct engine_message *message);

/* Return the message as the transport's send or receive request, without its
 * number and owner. label is borrowed. */
struct send_request
message_outflow(const struct comm_context *context,
                const struct engine_message *message,
                const struct flow_label *label);
struct recv_request
message_inflow(const struct comm_context *context,
               const struct engine_message *message,
               const struct flow_label *label);

/* Returns an operation for message that can be submitted; only a send's number
 * is missing. Returns NULL if there is no memory. Thread: any. */
struct op *
message_take(struct comm_context *context,
             const struct engine_message *message);

#endif
