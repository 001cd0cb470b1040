/*
 * engine/refusal.c - a message that its receive does not take
 *
 * The receive ends, and the sender is told; where the send has returned
 * already, its next call tells (engine/verdict.c). The message is gone.
 */

#include <stdio.h>

#include "engine/state.h"

static void
refuse(struct op *op,
       const struct frame *frame,
       enum hoop_status status,
       const char *text)
{
    struct engine *engine = op->engine;
    const uint32_t peer = op->message.in.key.peer;
    const struct frame verdict = {
        .kind = FRAME_VERDICT,
        .flags = FRAME_POINT_TO_POINT,
        .epoch = engine->roster->epoch,
        .comm = frame->comm,
        .op = frame->op,
        .tag = status,
    };

    if (peer == engine->roster->rank)
        verdict_on_message(engine, op->channel, &verdict, text);
    transport_tell(engine->transport, peer, &verdict, text);
    op_fail(op, status, text);
}

/* The two ends of it, and what they called. */
struct ends {
    char name[ROSTER_NAME_MAX];
    char peer_name[ROSTER_NAME_MAX];
    char call[CALL_TEXT_MAX];
    char peer_call[CALL_TEXT_MAX];
};

static struct ends
ends_of(const struct op *op,
        const struct frame *frame,
        const struct frame_tensor *tensor)
{
    const struct roster *roster = op->engine->roster;
    struct ends ends;

    roster_name(roster, roster->rank, ends.name);
    roster_name(roster, op->message.in.key.peer, ends.peer_name);
    call_describe_message(&op->call, frame->op, op->label.tensor, ends.call);
    call_describe_message(&frame->call, frame->op, tensor, ends.peer_call);
    return ends;
}

void
refusal_of_other(struct op *op,
                 const struct frame *frame,
                 const struct frame_tensor *tensor)
{
    const struct ends ends = ends_of(op, frame, tensor);
    char text[LIMIT_ERROR_TEXT];

    snprintf(text, sizeof(text), "%s called %s, but %s called %s", ends.name,
             ends.call, ends.peer_name, ends.peer_call);
    refuse(op, frame, HOOP_E_MISMATCH, text);
}

void
refusal_of_memory(struct op *op,
                  const struct frame *frame,
                  const struct frame_tensor *tensor,
                  const char *why)
{
    const struct ends ends = ends_of(op, frame, tensor);
    char text[LIMIT_ERROR_TEXT];

    snprintf(text, sizeof(text), "%s has no room for what %s sent with %s: %s",
             ends.name, ends.peer_name, ends.peer_call, why);
    refuse(op, frame, HOOP_E_EXHAUSTED, text);
}
