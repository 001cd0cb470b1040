/* engine/message_op.h - messages from rank to rank as operations; private */

#ifndef ENGINE_MESSAGE_OP_H
#define ENGINE_MESSAGE_OP_H

#include <stdbool.h>

#include "engine/engine.h"
#include "engine/op.h"
#include "transport/flow.h"

bool
message_is_receive(const struct engine_message *message);

/* What its frames say of it. */
struct flow_label
message_label(const struct comm_context *context,
              const struct engine_message *message);

/* What it is to the transport: without its number and its owner. label is
 * borrowed. */
struct send_request
message_outflow(const struct comm_context *context,
                const struct engine_message *message,
                const struct flow_label *label);
struct recv_request
message_inflow(const struct comm_context *context,
               const struct engine_message *message,
               const struct flow_label *label);

/* An operation to be handed in, of which only the number of a send is missing.
 * NULL: no memory. Thread: any. */
struct op *
message_take(struct comm_context *context,
             const struct engine_message *message);

#endif
