/*
 * engine/failure/mismatch.c - two ranks called different things: the failure
 * names both
 *
 * The rank that sees it first ends its own operation and tells all others. If
 * the operation has returned already, the next call reports it
 * (engine/failure/failure_notice.c).
 *
 * A message that its receive cannot take ends the receive, and the sender is
 * told. The send of a tensor waits for that; the send of bytes may have
 * returned, and then only the receive fails. The message is dropped.
 */

#include "engine/failure/mismatch.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "engine/context.h"
#include "engine/failure/failure_notice.h"
#include "engine/failure/op_history.h"
#include "engine/failure/operations.h"
#include "engine/state.h"
#include "transport/sequence.h"
#include "transport/shm/region.h"

struct frame
shm_header_to_frame(const struct comm_context *context,
                    const struct shm_region_header *header)
{
    return (struct frame){
        .kind = FRAME_COLLECTIVE,
        .flags = header->flags & FRAME_CHECKED,
        .comm = context->id,
        .op = sequence_number(header->sequence),
        .step = sequence_stage(header->sequence) << STAGE_IN_STEP_SHIFT,
        .signature = header->signature,
        .call =
            {
                .name = header->name,
                .dtype = header->dtype,
                .reduce_op = header->reduce_op,
                .root = header->root,
                .count = header->count,
            },
    };
}

struct local_call {
    const struct frame_call *call;
    uint32_t flags;
};

/* A setting that all ranks must have alike. */
struct agreed_setting {
    const char *name;
    const char *value; /* of the one rank; the other rank has other_value */
    const char *other_value;
};

/* One rank waits for a check that the other skips. */
static const struct agreed_setting checking = {"HOOP_CHECK", "full", "frames"};
static const struct agreed_setting retrying = {"HOOP_ON_FAILURE", "retry",
                                               "error"};

/* Returns the setting in which the two ranks differ, or NULL. *out_is_own says
 * whether this rank has value. */
static const struct agreed_setting *
find_differing_setting(const struct local_call *own,
                       const struct frame *frame,
                       bool *out_is_own)
{
    const bool are_agreements =
        own->call->name == CALL_AGREE && frame->call.name == CALL_AGREE;

    if ((own->flags ^ frame->flags) & FRAME_CHECKED) {
        *out_is_own = own->flags & FRAME_CHECKED;
        return &checking;
    }
    if (are_agreements &&
        (own->call->root ^ frame->call.root) & CALL_SETTING_RETRIES) {
        *out_is_own = own->call->root & CALL_SETTING_RETRIES;
        return &retrying;
    }
    return NULL;
}

/* The calls themselves may be alike. */
static void
describe_setting_mismatch(const struct agreed_setting *agreed_setting,
                          const char *name,
                          const char *other,
                          const char *call,
                          char text[LIMIT_ERROR_TEXT])
{
    snprintf(text, LIMIT_ERROR_TEXT,
             "%s has %s=%s, but %s has %s, in %s: all ranks of a job must "
             "have the same",
             name, agreed_setting->name, agreed_setting->value, other,
             agreed_setting->other_value, call);
}

/* own is NULL if this rank has forgotten its call of that number. */
static void
describe_call_mismatch(const struct comm_context *context,
                       uint32_t peer,
                       const struct frame *frame,
                       const struct local_call *own,
                       char text[LIMIT_ERROR_TEXT])
{
    const struct engine *engine = context->engine;
    const uint64_t number = context_user_call_number(context, frame->op);
    char call[CALL_TEXT_MAX];
    char peer_call[CALL_TEXT_MAX];
    char name[ROSTER_NAME_MAX];
    char peer_name[ROSTER_NAME_MAX];
    bool is_own = false;

    roster_format_name(engine->roster, engine->roster->rank, name);
    roster_format_name(engine->roster, peer, peer_name);
    call_describe(&frame->call, number, peer_call);
    if (!own) {
        snprintf(text, LIMIT_ERROR_TEXT,
                 "%s has long returned from its call #%" PRIu64
                 ", but %s called %s",
                 name, number, peer_name, peer_call);
        return;
    }
    call_describe(own->call, number, call);
    const bool looks_alike = strcmp(call, peer_call) == 0;
    const struct agreed_setting *agreed_setting =
        find_differing_setting(own, frame, &is_own);
    if (agreed_setting) {
        describe_setting_mismatch(agreed_setting, is_own ? name : peer_name,
                                  is_own ? peer_name : name, call, text);
        return;
    }
    snprintf(text, LIMIT_ERROR_TEXT, "%s called %s, but %s called %s%s", name,
             call, peer_name, peer_call,
             looks_alike ? " with other counts, shapes or layouts" : "");
}

/* Both ranks made the same collective call. */
static void
describe_size_mismatch(const struct comm_context *context,
                       uint32_t peer,
                       const struct size_mismatch *size_mismatch,
                       char text[LIMIT_ERROR_TEXT])
{
    const struct engine *engine = context->engine;
    const uint32_t self = engine->roster->rank;
    char call[CALL_TEXT_MAX];
    char receiver[ROSTER_NAME_MAX];
    char sender[ROSTER_NAME_MAX];

    call_describe(size_mismatch->call,
                  context_user_call_number(context, size_mismatch->number),
                  call);
    snprintf(text, LIMIT_ERROR_TEXT,
             "%s expects %" PRIu64 " bytes of %s in %s, which sends %" PRIu64,
             roster_format_name(engine->roster,
                                size_mismatch->is_sent ? peer : self, receiver),
             size_mismatch->n_expected,
             roster_format_name(engine->roster,
                                size_mismatch->is_sent ? self : peer, sender),
             call, size_mismatch->n_sent);
}

/* End operation number, running or ended, with a mismatch on all ranks. */
static void
fail_op_on_all_ranks(struct comm_context *context,
                     uint64_t number,
                     uint32_t peer,
                     const char *text)
{
    const struct failure_notice failure_notice =
        failure_notice_make(HOOP_E_MISMATCH, peer, "%s", text);
    struct op *op = context_find_running_op(context, number);

    if (op)
        op_fail(op, &failure_notice);
    else
        failure_notice_on_ended(context, number, &failure_notice);
}

void
mismatch_report_size(struct comm_context *context,
                     uint32_t peer,
                     const struct size_mismatch *size_mismatch)
{
    char text[LIMIT_ERROR_TEXT];

    describe_size_mismatch(context, peer, size_mismatch, text);
    fail_op_on_all_ranks(context, size_mismatch->number, peer, text);
}

/* Returns whether frame has the signature of its stage. */
static bool
frame_matches_stage_signature(const uint64_t signatures[STAGES_MAX],
                              const struct frame *frame)
{
    const uint32_t stage = frame->step >> STAGE_IN_STEP_SHIFT;

    return stage < STAGES_MAX && signatures[stage] == frame->signature;
}

/* The calls are the same, but this rank's has no use for what came. */
static void
mismatch_report_unwanted(struct comm_context *context,
                         uint32_t peer,
                         const struct frame *frame)
{
    mismatch_report_size(context, peer,
                         &(struct size_mismatch){
                             .number = frame->op,
                             .call = &frame->call,
                             .n_sent = frame->total,
                         });
}

void
mismatch_report_calls(struct comm_context *context,
                      uint32_t peer,
                      const struct frame *frame)
{
    const struct op *op = context_find_running_op(context, frame->op);
    const struct op_history_entry *ended_op =
        op_history_find(&context->op_history, frame->op);
    const uint64_t *signatures = op         ? op->run.signatures
                                 : ended_op ? ended_op->signatures
                                            : NULL;
    struct local_call own = {0};
    char text[LIMIT_ERROR_TEXT];

    if (signatures && frame_matches_stage_signature(signatures, frame)) {
        mismatch_report_unwanted(context, peer, frame);
        return;
    }
    if (op) {
        own.call = frame->kind == FRAME_HEARTBEAT ? &op->run.first_call
                                                  : &op->run.label.call;
        own.flags = op->run.label.flags;
    } else if (ended_op) {
        own.call = &ended_op->call;
        own.flags = ended_op->flags;
    }
    describe_call_mismatch(context, peer, frame, own.call ? &own : NULL, text);
    fail_op_on_all_ranks(context, frame->op, peer, text);
}

/* Find a frame that came early for that stage but belongs to another call. */
static bool
find_mismatched_frame(const struct op *op,
                      uint32_t stage,
                      uint32_t *out_peer,
                      struct frame *out_frame)
{
    const uint32_t step_first = stage << STAGE_IN_STEP_SHIFT;
    const struct transport_unexpected_filter wanted = {
        .comm = op->run.context->id,
        .op = op->run.number,
        .step_first = step_first,
        .step_last = step_first + (((uint32_t)1 << STAGE_IN_STEP_SHIFT) - 1),
        .except = op->run.label.signature,
    };

    return transport_find_unexpected(op->engine->transport, &wanted, out_peer,
                                     out_frame);
}

void
mismatch_check_early_frames(struct op *op)
{
    uint32_t peer;
    struct frame frame;

    if (!transport_has_unexpected(op->engine->transport, op->run.number))
        return;
    /* Signatures of later stages may differ from the first one's. */
    if (find_mismatched_frame(op, 0, &peer, &frame) ||
        find_mismatched_frame(op, STAGE_CALL_CHECK, &peer, &frame))
        mismatch_report_calls(op->run.context, peer, &frame);
}

bool
mismatch_check_surplus(struct op *op)
{
    if (!transport_has_unexpected(op->engine->transport, op->run.number))
        return false;

    const struct transport_unexpected_filter wanted = {
        .comm = op->run.context->id,
        .op = op->run.number,
        .step_last = UINT32_MAX,
    };
    uint32_t peer;
    struct frame frame;

    if (!transport_find_unexpected(op->engine->transport, &wanted, &peer,
                                   &frame))
        return false;
    mismatch_report_calls(op->run.context, peer, &frame);
    return true;
}

/* End the send with a failure. */
static void
fail_send_at_its_sender(struct engine *engine,
                        uint32_t peer,
                        const struct frame *frame,
                        enum hoop_status status,
                        const char *text)
{
    struct comm_context *context = engine_find_context(engine, frame->comm);
    const struct frame failure_notice = {
        .kind = FRAME_FAILURE_NOTICE,
        .flags = FRAME_POINT_TO_POINT,
        .epoch = engine->roster->epoch,
        .comm = frame->comm,
        .op = frame->op,
        .tag = status,
        .call.root = failure_notice_pack_rank(engine->roster->rank),
    };

    if (context && peer == engine->roster->rank)
        failure_notice_on_message(context, peer, &failure_notice, text);
    transport_send_control(engine->transport, peer, &failure_notice, text);
    engine->progress.must_flush = true;
}

static void
mismatched_receive_fail(struct op *op,
                        const struct frame *frame,
                        enum hoop_status status,
                        const char *text)
{
    const uint32_t peer = op->message.flow.in.key.peer;
    /* This rank lacks what the message needs, or the peer sent another. */
    const struct failure_notice failure_notice = failure_notice_make(
        status, status == HOOP_E_EXHAUSTED ? op->engine->roster->rank : peer,
        "%s", text);

    fail_send_at_its_sender(op->engine, peer, frame, status, text);
    op_fail(op, &failure_notice);
}

/* The names of both ranks, and what they called. */
struct mismatch_names {
    char name[ROSTER_NAME_MAX];
    char peer_name[ROSTER_NAME_MAX];
    char call[CALL_TEXT_MAX];
    char peer_call[CALL_TEXT_MAX];
};

static struct mismatch_names
describe_both_ends(const struct op *op,
                   const struct frame *frame,
                   const struct frame_tensor *tensor)
{
    const struct roster *roster = op->engine->roster;
    struct mismatch_names ends;

    roster_format_name(roster, roster->rank, ends.name);
    roster_format_name(roster, op->message.flow.in.key.peer, ends.peer_name);
    const uint64_t number = message_user_number(frame->op);

    call_describe_message(&op->run.label.call, number, op->run.label.tensor,
                          ends.call);
    call_describe_message(&frame->call, number, tensor, ends.peer_call);
    return ends;
}

void
receive_mismatch_report_type(struct op *op,
                             const struct frame *frame,
                             const struct frame_tensor *tensor)
{
    const struct frame_tensor *expected = op->run.label.tensor;
    const bool are_tensors = expected && tensor;

    if (are_tensors && op->message.is_error_text_payload) {
        mismatched_receive_fail(op, frame, HOOP_E_MISMATCH,
                                (const char *)op->message.flow.in.place);
        return;
    }
    if (are_tensors && op->message.received_part)
        *op->message.received_part = tensor->part;
    const bool is_one_shared =
        are_tensors && (expected->part ^ tensor->part) & FRAME_PART_IN_SHARES;
    const struct mismatch_names ends = describe_both_ends(op, frame, tensor);
    char text[LIMIT_ERROR_TEXT];

    snprintf(text, sizeof(text), "%s called %s, but %s called %s%s", ends.name,
             ends.call, ends.peer_name, ends.peer_call,
             is_one_shared ? ": set HOOP_PIPE_SCATTER_GATHER on all ranks of "
                             "both stages, or on none"
                           : "");
    mismatched_receive_fail(op, frame, HOOP_E_MISMATCH, text);
}

void
receive_mismatch_report_memory(struct op *op,
                               const struct frame *frame,
                               const struct frame_tensor *tensor,
                               const char *why)
{
    const struct mismatch_names ends = describe_both_ends(op, frame, tensor);
    char text[LIMIT_ERROR_TEXT];

    snprintf(text, sizeof(text), "%s has no room for what %s sent with %s: %s",
             ends.name, ends.peer_name, ends.peer_call, why);
    mismatched_receive_fail(op, frame, HOOP_E_EXHAUSTED, text);
}

void
receive_mismatch_report_extra(struct engine *engine,
                              uint32_t peer,
                              const struct frame *frame,
                              const struct frame_tensor *tensor)
{
    char name[ROSTER_NAME_MAX];
    char peer_name[ROSTER_NAME_MAX];
    char call[CALL_TEXT_MAX];
    char text[LIMIT_ERROR_TEXT];

    call_describe_message(&frame->call, message_user_number(frame->op), tensor,
                          call);
    snprintf(text, sizeof(text),
             "%s called %s, but %s takes nothing more of that list: it "
             "expected fewer tensors, or its receive has ended",
             roster_format_name(engine->roster, peer, peer_name), call,
             roster_format_name(engine->roster, engine->roster->rank, name));
    fail_send_at_its_sender(engine, peer, frame, HOOP_E_MISMATCH, text);
}

void
receive_mismatch_report_list(struct op *op,
                             const struct frame *frame,
                             const struct frame_tensor *tensor)
{
    const struct mismatch_names ends = describe_both_ends(op, frame, tensor);
    const struct failure_notice failure_notice = failure_notice_make(
        HOOP_E_MISMATCH, op->message.flow.in.key.peer,
        "%s called %s, but %s sent fewer tensors, or gave up, and "
        "has gone on with %s",
        ends.name, ends.call, ends.peer_name, ends.peer_call);

    op_fail(op, &failure_notice);
}
