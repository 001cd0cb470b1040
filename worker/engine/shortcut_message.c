/*
 * engine/shortcut_message.c - a small message by the one who calls it
 *
 * As with shortcut.c: where nobody drives and nothing is under way, a caller
 * that waits at once needs no operation that others could find. What it sends
 * goes at once, if nothing goes before it; what it receives is looked for at the
 * head of the memory that it shares with its sender, for about as long as an
 * answer from another processor takes. Whatever is out of the ordinary makes it
 * an ordinary one, for which nothing has been done yet but that a send has its
 * number.
 */

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/message_op.h"
#include "engine/shortcut.h"

enum {
    LOOKS_ALONE = 512,
};

/* Whether it can be one at all; cheap. */
static bool
is_short(const struct channel *channel, const struct engine_message *message)
{
    const struct engine *engine = channel->engine;

    return !message->tensor && message->peer != HOOP_ANY_SOURCE &&
           message->tag != CALL_TAG_OWN && !engine->faults &&
           !engine->is_orphan;
}

/* The drive right, if nothing is under way; and the number of a send. By the
 * gate's order, it is the next. */
static bool
message_enter(struct channel *channel,
              const struct engine_message *message,
              uint64_t *out_number)
{
    struct engine *engine = channel->engine;

    pthread_mutex_lock(&engine->gate);
    const bool is_free = channel_is_quiet(channel);
    engine->is_driven |= is_free;
    *out_number = 0;
    if (is_free && !message_is_receive(message))
        *out_number = channel->message_next[message->peer]++;
    pthread_mutex_unlock(&engine->gate);
    return is_free;
}

static bool
message_send(struct channel *channel,
             const struct engine_message *message,
             uint64_t number)
{
    struct engine *engine = channel->engine;
    bool has_rest = false;
    const struct flow_label label = message_label(channel, message);
    struct send_request flow = message_outflow(channel, message, &label);

    flow.key.op = number;
    if (!transport_send_inline(engine->transport, &flow, &has_rest))
        return false;
    engine->has_rest |= has_rest;
    channel->n_unheard_flat = UNHEARD_LOOKS;
    return true;
}

static unsigned
n_looks(const struct engine *engine)
{
    return engine_endurance(engine) == ENDURANCE_SPINS ? LOOKS_ALONE
                                                       : LOOKS_CROWDED;
}

/* False: it takes too long, or something else has come. */
static bool
message_await(struct engine *engine, struct recv_request *flow)
{
    struct transport *transport = engine->transport;

    for (unsigned i = n_looks(engine); i > 0; i--) {
        switch (transport_receive_inline(transport, flow)) {
        case TRANSPORT_INLINE_DONE:
            return true;
        case TRANSPORT_INLINE_OTHER:
            return false;
        case TRANSPORT_INLINE_NONE:
            break;
        }
        if (i % LOOKS_PER_ADVICE > 0)
            continue;
        if (atomic_load_explicit(&engine->has_mail, memory_order_relaxed))
            return false;
        perch_take(&engine->perch);
    }
    return false;
}

static bool
message_receive(struct channel *channel, const struct engine_message *message)
{
    struct engine *engine = channel->engine;

    if (!transport_can_receive_inline(engine->transport,
                                      channel->ranks[message->peer]))
        return false;
    const struct flow_label label = message_label(channel, message);
    struct recv_request flow = message_inflow(channel, message, &label);
    if (!message_await(engine, &flow))
        return false;
    if (message->received) {
        message->received->source = message->peer;
        message->received->count = flow.total / flow.element_size;
    }
    return true;
}

/* Ended well. */
static enum hoop_status
message_end(struct channel *channel)
{
    struct engine *engine = channel->engine;

    channel->n_unheard = UNHEARD_LOOKS;
    engine_count(engine);
    if (++channel->n_turnless >= ROUNDS_PER_TURN) {
        channel->n_turnless = 0;
        engine_turn(engine, 0);
    }
    engine_release(engine);
    return HOOP_OK;
}

/* It goes on as an operation like any other. */
static enum hoop_status
message_leave(struct channel *channel,
              const struct engine_message *message,
              uint64_t number)
{
    struct op *op = message_take(channel, message);

    if (!op) {
        engine_release(channel->engine);
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a message");
    }
    op->number = number;
    op->is_held = true;
    return engine_wait_held(op, CLOCK_NEVER);
}

/* With the drive right, which is given up on return. */
static enum hoop_status
message_go_on(struct channel *channel,
              const struct engine_message *message,
              uint64_t number)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    const bool is_done = message_is_receive(message)
                             ? message_receive(channel, message)
                             : message_send(channel, message, number);

    return is_done ? message_end(channel)
                   : message_leave(channel, message, number);
}

enum hoop_status
engine_run_message(struct channel *channel,
                   const struct engine_message *message)
{
    struct op *op = NULL;
    uint64_t number;

    if (is_short(channel, message) && message_enter(channel, message, &number))
        return message_go_on(channel, message, number);
    const enum hoop_status status =
        engine_start_messages(channel, message, 1, &op);
    return status == HOOP_OK ? engine_wait(op, CLOCK_NEVER)
                             : error_pass(status);
}
