/*
 * engine/inline_message.c - a caller sends or receives a small message inline
 *
 * As in inline_collective.c, a caller that waits at once needs no operation
 * that other threads could find if progress ownership is free and nothing is
 * running. It sends at once if no other message is queued before. It looks for
 * a message to receive at the head of the memory that it shares with the
 * sender, for about as long as an answer from another processor takes. In any
 * unusual case it continues as an ordinary operation, for which nothing has
 * been done yet except that a send has its number.
 */

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/inline_path.h"
#include "engine/message_op.h"

enum {
    POLLS_ALONE = 512,
};

/* A cheap test whether the message can be sent or received inline at all. */
static bool
is_short(const struct comm_context *context,
         const struct engine_message *message)
{
    const struct engine *engine = context->engine;

    return !message->tensor && message->peer != HOOP_ANY_SOURCE &&
           message->tag != CALL_TAG_OWN && !engine->faults &&
           !engine->is_forked_child;
}

/* Take progress ownership if nothing is running, and give a send its number.
 * Numbers are given in the order of the lock. */
static bool
message_enter(struct comm_context *context,
              const struct engine_message *message,
              uint64_t *out_number)
{
    struct engine *engine = context->engine;

    pthread_mutex_lock(&engine->lock);
    const bool is_free = context_allows_inline(context);
    engine->is_progress_owned |= is_free;
    *out_number = 0;
    if (is_free && !message_is_receive(message))
        *out_number = context->message_next[message->peer]++;
    pthread_mutex_unlock(&engine->lock);
    return is_free;
}

static bool
message_send(struct comm_context *context,
             const struct engine_message *message,
             uint64_t number)
{
    struct engine *engine = context->engine;
    bool has_rest = false;
    const struct flow_label label = message_label(context, message);
    struct send_request flow = message_outflow(context, message, &label);

    flow.key.op = number;
    if (!transport_send_inline(engine->transport, &flow, &has_rest))
        return false;
    engine->has_rest |= has_rest;
    context->n_polls_pending_shm = POLLS_PENDING;
    return true;
}

static unsigned
n_polls(const struct engine *engine)
{
    return engine_wait_policy(engine) == WAIT_POLICY_SPIN
               ? POLLS_ALONE
               : POLLS_OVERSUBSCRIBED;
}

/* Returns false if it takes too long or another frame has arrived. */
static bool
message_await(struct engine *engine, struct recv_request *flow)
{
    struct transport *transport = engine->transport;

    for (unsigned i = n_polls(engine); i > 0; i--) {
        switch (transport_receive_inline(transport, flow)) {
        case TRANSPORT_INLINE_DONE:
            return true;
        case TRANSPORT_INLINE_OTHER:
            return false;
        case TRANSPORT_INLINE_NONE:
            break;
        }
        if (i % POLLS_PER_ACTION > 0)
            continue;
        if (atomic_load_explicit(&engine->has_commands, memory_order_relaxed))
            return false;
        cpu_placement_apply(&engine->cpu_placement);
    }
    return false;
}

static bool
message_receive(struct comm_context *context,
                const struct engine_message *message)
{
    struct engine *engine = context->engine;

    if (!transport_can_receive_inline(engine->transport,
                                      context->ranks[message->peer]))
        return false;
    const struct flow_label label = message_label(context, message);
    struct recv_request flow = message_inflow(context, message, &label);
    if (!message_await(engine, &flow))
        return false;
    if (message->received) {
        message->received->source = message->peer;
        message->received->count = flow.total / flow.element_size;
    }
    return true;
}

/* Record the end of a message that succeeded. */
static enum hoop_status
message_end(struct comm_context *context)
{
    struct engine *engine = context->engine;

    context->n_polls_pending = POLLS_PENDING;
    engine_count(engine);
    if (++context->n_rounds_unpolled >= ROUNDS_PER_POLL) {
        context->n_rounds_unpolled = 0;
        progress_poll(engine, 0);
    }
    progress_release(engine);
    return HOOP_OK;
}

/* Continue as an ordinary operation. */
static enum hoop_status
message_leave(struct comm_context *context,
              const struct engine_message *message,
              uint64_t number)
{
    struct op *op = message_take(context, message);

    if (!op) {
        progress_release(context->engine);
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a message");
    }
    op->number = number;
    op->is_held = true;
    return engine_wait_held(op, CLOCK_NEVER);
}

/* Execute the message with progress ownership, which is given up on return. */
static enum hoop_status
message_fall_back(struct comm_context *context,
                  const struct engine_message *message,
                  uint64_t number)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    const bool is_done = message_is_receive(message)
                             ? message_receive(context, message)
                             : message_send(context, message, number);

    return is_done ? message_end(context)
                   : message_leave(context, message, number);
}

enum hoop_status
engine_run_message(struct comm_context *context,
                   const struct engine_message *message)
{
    struct op *op = NULL;
    uint64_t number;

    if (is_short(context, message) && message_enter(context, message, &number))
        return message_fall_back(context, message, number);
    const enum hoop_status status =
        engine_start_messages(context, message, 1, &op);
    return status == HOOP_OK ? engine_wait(op, CLOCK_NEVER)
                             : error_pass(status);
}
