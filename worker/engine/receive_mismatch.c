/*
 * engine/receive_mismatch.c - a message that its receive cannot take
 *
 * The receive ends, and the sender is told. The send of a tensor waits for
 * that; the send of bytes may have returned, and then only the receive fails.
 * The message is dropped.
 */

#include <stdio.h>

#include "engine/state.h"

/* End the send with a failure. */
static void
tell_sender(struct engine *engine,
            uint32_t peer,
            const struct frame *frame,
            enum hoop_status status,
            const char *text)
{
    struct comm_context *context = engine_context(engine, frame->comm);
    const struct frame failure_notice = {
        .kind = FRAME_VERDICT,
        .flags = FRAME_POINT_TO_POINT,
        .epoch = engine->roster->epoch,
        .comm = frame->comm,
        .op = frame->op,
        .tag = status,
        .call.root = failure_notice_pack_rank(engine->roster->rank),
    };

    if (context && peer == engine->roster->rank)
        failure_notice_on_message(context, peer, &failure_notice, text);
    transport_tell(engine->transport, peer, &failure_notice, text);
    engine->must_flush = true;
}

static void
refuse(struct op *op,
       const struct frame *frame,
       enum hoop_status status,
       const char *text)
{
    const uint32_t peer = op->message.in.key.peer;
    const struct failure_notice failure_notice =
        failure_make(status, peer, "%s", text);

    tell_sender(op->engine, peer, frame, status, text);
    op_fail(op, &failure_notice);
}

/* The names of both ranks, and what they called. */
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
    const uint64_t number = message_number(frame->op);

    call_describe_message(&op->call, number, op->label.tensor, ends.call);
    call_describe_message(&frame->call, number, tensor, ends.peer_call);
    return ends;
}

void
receive_mismatch_type(struct op *op,
                      const struct frame *frame,
                      const struct frame_tensor *tensor)
{
    const struct frame_tensor *expected = op->label.tensor;
    const bool are_tensors = expected && tensor;

    if (are_tensors && op->is_refusal) {
        refuse(op, frame, HOOP_E_MISMATCH, (const char *)op->message.in.place);
        return;
    }
    if (are_tensors && op->received_part)
        *op->received_part = tensor->part;
    const bool is_one_shared =
        are_tensors && (expected->part ^ tensor->part) & FRAME_PART_IN_SHARES;
    const struct ends ends = ends_of(op, frame, tensor);
    char text[LIMIT_ERROR_TEXT];

    snprintf(text, sizeof(text), "%s called %s, but %s called %s%s", ends.name,
             ends.call, ends.peer_name, ends.peer_call,
             is_one_shared ? ": set HOOP_PIPE_SCATTER_GATHER on all ranks of "
                             "both stages, or on none"
                           : "");
    refuse(op, frame, HOOP_E_MISMATCH, text);
}

void
receive_mismatch_memory(struct op *op,
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

void
receive_mismatch_stray(struct engine *engine,
                       uint32_t peer,
                       const struct frame *frame,
                       const struct frame_tensor *tensor)
{
    char name[ROSTER_NAME_MAX];
    char peer_name[ROSTER_NAME_MAX];
    char call[CALL_TEXT_MAX];
    char text[LIMIT_ERROR_TEXT];

    call_describe_message(&frame->call, message_number(frame->op), tensor,
                          call);
    snprintf(text, sizeof(text),
             "%s called %s, but %s takes nothing more of that list: it "
             "expected fewer tensors, or its receive has ended",
             roster_name(engine->roster, peer, peer_name), call,
             roster_name(engine->roster, engine->roster->rank, name));
    tell_sender(engine, peer, frame, HOOP_E_MISMATCH, text);
}

void
receive_mismatch_next_list(struct op *op,
                           const struct frame *frame,
                           const struct frame_tensor *tensor)
{
    const struct ends ends = ends_of(op, frame, tensor);
    const struct failure_notice failure_notice =
        failure_make(HOOP_E_MISMATCH, op->message.in.key.peer,
                     "%s called %s, but %s sent fewer tensors, or gave up, and "
                     "has gone on with %s",
                     ends.name, ends.call, ends.peer_name, ends.peer_call);

    op_fail(op, &failure_notice);
}
