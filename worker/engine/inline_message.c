/*
 * engine/inline_message.c - a caller sends or receives a small message inline
 *
 * engine/inline.h has the contract. The caller sends at once if no other
 * message is queued before. It looks for a message to receive at the head of
 * the memory that it shares with the sender, for about as long as an answer
 * from another processor takes. For an ordinary operation nothing has been done
 * yet except that a send has its number.
 */

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "engine/call_record.h"
#include "engine/inline.h"
#include "engine/message_op.h"
#include "engine/pending_polls.h"
#include "engine/progress.h"
#include "engine/state.h"

enum {
    /* Polls for a message where each rank has a processor. */
    INLINE_MESSAGE_POLLS_MAX = 512,
};

/* A message whose caller has progress ownership, and makes no operation. */
struct inline_message {
    struct comm_context *context;
    const struct engine_message *message;
    uint64_t number;              /* of a send */
    struct recorder_slot *record; /* NULL: it is not recorded */
};

/* A cheap test whether the message can be sent or received inline at all. */
static bool
can_run_message_inline(const struct comm_context *context,
                       const struct engine_message *message)
{
    const struct engine *engine = context->engine;

    return !message->tensor && message->peer != HOOP_ANY_SOURCE &&
           message->tag != CALL_TAG_LIBRARY_INTERNAL && !engine->faults &&
           !engine->is_forked_child;
}

/* Take progress ownership if nothing is running, and give a send its number.
 * Numbers are given in the order of the lock. */
static bool
inline_message_try_begin(struct inline_message *call)
{
    struct comm_context *context = call->context;
    struct engine *engine = context->engine;
    const bool is_receive = message_is_receive(call->message);

    pthread_mutex_lock(&engine->lock);
    const bool is_free = context_allows_inline(
        context, is_receive ? &context->failure.n_pending_receives : NULL);
    engine->is_progress_owned |= is_free;
    if (is_free && !is_receive)
        call->number = context->next_message_number[call->message->peer]++;
    if (is_free)
        call->record =
            message_record_called(context, call->message, call->number);
    pthread_mutex_unlock(&engine->lock);
    return is_free;
}

static bool
inline_message_send(const struct inline_message *call)
{
    const struct flow_label label =
        message_flow_label(call->context, call->message);
    struct send_request flow =
        message_send_request(call->context, call->message, &label);

    flow.key.op = call->number;
    return transport_send_inline(call->context->engine->transport, &flow);
}

static unsigned
inline_message_polls_max(const struct engine *engine)
{
    return engine_wait_policy(engine) == WAIT_POLICY_SPIN
               ? INLINE_MESSAGE_POLLS_MAX
               : INLINE_POLLS_OVERSUBSCRIBED;
}

/* Returns false if it takes too long or another frame has arrived. */
static bool
inline_message_poll(struct engine *engine, struct recv_request *flow)
{
    struct transport *transport = engine->transport;

    for (unsigned i = inline_message_polls_max(engine); i > 0; i--) {
        switch (transport_receive_inline(transport, flow)) {
        case TRANSPORT_INLINE_DONE:
            return true;
        case TRANSPORT_INLINE_NEEDS_PROGRESS:
            return false;
        case TRANSPORT_INLINE_NOT_ARRIVED:
            break;
        }
        if (i % INLINE_POLLS_PER_COMMAND_CHECK > 0)
            continue;
        if (atomic_load_explicit(&engine->inbox.has_commands,
                                 memory_order_relaxed))
            return false;
        cpu_placement_apply(&engine->cpu_placement);
    }
    return false;
}

static bool
inline_message_receive(const struct inline_message *call)
{
    const struct comm_context *context = call->context;
    const struct engine_message *message = call->message;
    struct engine *engine = context->engine;

    if (!transport_can_receive_inline(engine->transport,
                                      context->ranks[message->peer]))
        return false;
    const struct flow_label label = message_flow_label(context, message);
    struct recv_request flow = message_recv_request(context, message, &label);
    if (!inline_message_poll(engine, &flow))
        return false;
    message_record_received(context, call->record, &flow);
    if (message->received) {
        message->received->source = message->peer;
        message->received->count = flow.total / flow.element_size;
    }
    return true;
}

/* The message has succeeded. */
static enum hoop_status
inline_message_end(struct inline_message *call)
{
    struct comm_context *context = call->context;

    message_record_ended(context, STEAL(call->record), call->message);
    if (message_is_receive(call->message))
        pending_polls_after_receive(context);
    else
        pending_polls_renew(context);
    engine_count_ended_op(context->engine);
    context->n_rounds_since_socket_poll++;
    inline_release_progress(context);
    return HOOP_OK;
}

/* Continue as an ordinary operation. */
static enum hoop_status
inline_message_continue_as_op(struct inline_message *call)
{
    struct engine *engine = call->context->engine;
    struct op *op = message_op_create(call->context, call->message);

    if (!op) {
        message_record_failed(engine, STEAL(call->record), HOOP_E_EXHAUSTED);
        progress_release(engine);
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a message");
    }
    op->run.number = call->number;
    op->run.record = STEAL(call->record);
    op->run.is_begun_by_waiter = true;
    return engine_wait_no_cancel(op, CLOCK_NEVER);
}

/* Execute the message with progress ownership, which is given up on return. */
static enum hoop_status
inline_message_run(struct inline_message *call)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    const bool is_done = message_is_receive(call->message)
                             ? inline_message_receive(call)
                             : inline_message_send(call);

    return is_done ? inline_message_end(call)
                   : inline_message_continue_as_op(call);
}

enum hoop_status
engine_run_message(struct comm_context *context,
                   const struct engine_message *message)
{
    struct inline_message call = {.context = context, .message = message};
    struct op *op = NULL;

    if (can_run_message_inline(context, message) &&
        inline_message_try_begin(&call))
        return inline_message_run(&call);
    const enum hoop_status status =
        engine_start_messages(context, message, 1, &op);
    return status == HOOP_OK ? engine_wait(op, CLOCK_NEVER)
                             : error_pass(status);
}
