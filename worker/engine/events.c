/* engine/events.c - passes what the transport reports on to the operations */

#include "engine/events.h"

#include "hoop/comm.h"

#include "base/cleanup.h"
#include "engine/call_record.h"
#include "engine/context.h"
#include "engine/executor.h"
#include "engine/failure/departure.h"
#include "engine/failure/failure_detector.h"
#include "engine/failure/failure_notice.h"
#include "engine/failure/heartbeat.h"
#include "engine/failure/mismatch.h"
#include "engine/failure/op_history.h"
#include "engine/failure/operations.h"
#include "engine/failure/revocation.h"
#include "engine/failure/state_query.h"
#include "engine/message_op.h"
#include "engine/operation_end.h"
#include "engine/shortage.h"
#include "engine/state.h"

static void
on_bytes_sent(void *owner, struct send_request *out, uint64_t n_bytes)
{
    struct step_flow *flow = out->owner;

    (void)owner;
    /* An inline message has no flow. */
    if (!flow)
        return;
    op_record_moved(flow->op, out->key.peer);
    if (!op_is_message(flow->op))
        executor_on_sent(flow, n_bytes);
    else if (send_request_is_done(out))
        op_mark_dirty(flow->op);
}

static void
message_receive_complete(struct op *op)
{
    const struct recv_request *in = &op->message.flow.in;

    if (op->message.received) {
        const struct comm_context *context = op->run.context;
        uint32_t source = 0;

        /* A process that is not a member may know the id, but has no rank. */
        while (source < context->size && context->ranks[source] != in->key.peer)
            source++;
        op->message.received->source =
            source < context->size ? source : HOOP_NO_RANK;
        op->message.received->count = in->total / op->run.element_size;
    }
    op_mark_dirty(op);
}

/* A piece of flow has arrived: trigger the faults for that. */
static void
flow_inject_fault(const struct step_flow *flow)
{
    const struct fault_event event = {
        .point = FAULT_AT_RECEIVE,
        .peer = flow->in.key.peer,
        .round = op_is_message(flow->op) ? 1 : flow->tracked_step->round + 1,
    };

    faults_trigger(flow->op->engine->faults, flow->op->run.label.faults,
                   &event);
}

static void
on_arrived(void *owner,
           struct recv_request *in,
           const uint8_t *piece,
           size_t n_bytes)
{
    struct step_flow *flow = in->owner;

    (void)owner;
    if (FAULT_IS_BUILT && flow->op->run.label.faults)
        flow_inject_fault(flow);
    op_record_arrived(flow->op, in->key.peer);
    if (!op_is_message(flow->op))
        executor_on_received(flow, piece, n_bytes);
    else if (in->arrived == in->total)
        message_receive_complete(flow->op);
}

static void
on_encoded(void *owner, void *flow_owner, const struct encoded *encoded)
{
    struct step_flow *flow = flow_owner;

    (void)owner;
    if (!op_is_message(flow->op))
        executor_on_encoded(flow, encoded);
}

static void
on_matched(void *owner,
           struct recv_request *in,
           const struct frame *frame,
           const struct frame_tensor *tensor)
{
    const struct step_flow *flow = in->owner;

    (void)owner;
    if (call_allocates_receive(flow->op->run.label.call.name))
        receive_allocation_make(flow->op, frame, tensor);
}

static void
on_send_withdrawn(void *owner, struct recv_request *in)
{
    const struct engine *engine = owner;
    const struct step_flow *flow = in->owner;
    struct failure_notice failure_notice;
    char name[ROSTER_NAME_MAX];

    /* A rank that gave up because a third rank was lost has reported the loss
     * first. */
    if (!context_has_lost_member(flow->op->run.context, &failure_notice))
        failure_notice = failure_notice_make(
            HOOP_E_TIMEOUT, in->key.peer, "%s gave up its send%s",
            roster_format_name(engine->roster, in->key.peer, name),
            op_is_message(flow->op)
                ? ": its deadline passed, or it was half of a sendrecv whose "
                  "other half failed; its own error says which"
                : "");
    op_fail(flow->op, &failure_notice);
}

/* Decide what to do with a frame of an operation or a stage that has ended. */
static enum transport_unexpected_action
unexpected_action_for_ended(const struct frame *frame,
                            const uint64_t signatures[STAGES_MAX])
{
    const uint32_t stage = frame->step >> STAGE_IN_STEP_SHIFT;

    const bool is_known = stage < STAGES_MAX || stage == STAGE_CALL_CHECK;
    const uint64_t signature =
        is_known ? signatures[stage == STAGE_CALL_CHECK ? 0 : stage] : 0;

    /* A grant for what was sent eagerly comes too late; any payload is
     * surplus. */
    return frame->kind == FRAME_GRANT && is_known &&
                   frame->signature == signature
               ? TRANSPORT_DROP
               : TRANSPORT_MISMATCH;
}

static enum transport_unexpected_action
unexpected_action_for_running(const struct frame *frame, const struct op *op)
{
    const uint32_t stage = frame->step >> STAGE_IN_STEP_SHIFT;

    const bool is_check = stage == STAGE_CALL_CHECK;

    if (stage < op->run.stage || (is_check && !op->run.is_call_check_stage))
        return unexpected_action_for_ended(frame, op->run.signatures);
    return (stage > op->run.stage && !is_check) ||
                   frame->signature == op->run.label.signature
               ? TRANSPORT_KEEP
               : TRANSPORT_MISMATCH;
}

static enum transport_unexpected_action
on_unexpected(void *owner, uint32_t peer, const struct frame *frame)
{
    struct engine *engine = owner;
    struct comm_context *context = engine_find_context(engine, frame->comm);

    (void)peer;
    /* The members may be ahead of this rank or behind it: the context is not
     * open yet, or has been closed. */
    if (!context)
        return engine_keeps_frames_of_context(engine, frame->comm)
                   ? TRANSPORT_KEEP
                   : TRANSPORT_DROP;
    if (frame->kind == FRAME_MESSAGE || (frame->flags & FRAME_POINT_TO_POINT) ||
        frame->op >= context->next_op_number)
        return TRANSPORT_KEEP;

    struct op *op = context_find_running_op(context, frame->op);
    if (op)
        return unexpected_action_for_running(frame, op);
    pthread_mutex_lock(&engine->lock);
    TAILQ_FOREACH(op, &engine->inbox.submit_queue, link)
    {
        if (op->run.context == context && !op_is_message(op) &&
            op->run.number == frame->op)
            break;
    }
    pthread_mutex_unlock(&engine->lock);
    if (op)
        return TRANSPORT_KEEP;

    if (op_history_has_failed(&context->op_history, frame->op))
        return TRANSPORT_DROP;
    const struct op_history_entry *ended_op =
        op_history_find(&context->op_history, frame->op);
    if (ended_op)
        return unexpected_action_for_ended(frame, ended_op->signatures);
    /* The operation ended long ago: a grant may be late, but data must never
     * be. */
    return frame->kind == FRAME_GRANT ? TRANSPORT_DROP : TRANSPORT_MISMATCH;
}

/* The calls are the same, but the lengths differ. */
static void
report_size_mismatch(struct comm_context *context,
                     const struct transport_mismatch *mismatch)
{
    const struct frame *frame = mismatch->frame;
    const uint64_t total = mismatch->total;
    const bool is_sent = frame->kind == FRAME_GRANT;

    mismatch_report_size(context, mismatch->peer,
                         &(struct size_mismatch){
                             .number = frame->op,
                             .call = &frame->call,
                             .n_expected = is_sent ? frame->total : total,
                             .n_sent = is_sent ? total : frame->total,
                             .is_sent = is_sent,
                         });
}

static void
on_mismatch(void *owner, const struct transport_mismatch *mismatch)
{
    const struct frame *frame = mismatch->frame;
    const struct step_flow *flow =
        mismatch->flow ? mismatch->flow->owner : NULL;
    struct comm_context *context;

    switch (mismatch->kind) {
    case TRANSPORT_CALL_DIFFERS:
        context = engine_find_context(owner, frame->comm);
        if (context)
            mismatch_report_calls(context, mismatch->peer, frame);
        return;
    case TRANSPORT_SIZE_DIFFERS:
        context = engine_find_context(owner, frame->comm);
        if (context)
            report_size_mismatch(context, mismatch);
        return;
    case TRANSPORT_MESSAGE_DOES_NOT_FIT:
        receive_mismatch_report_type(flow->op, frame, mismatch->tensor);
        return;
    case TRANSPORT_SURPLUS_LIST_TENSOR:
        receive_mismatch_report_extra(owner, mismatch->peer, frame,
                                      mismatch->tensor);
        return;
    case TRANSPORT_LIST_ENDED_EARLY:
        receive_mismatch_report_list(flow->op, frame, mismatch->tensor);
        return;
    }
}

static void
on_failure_notice(void *owner,
                  uint32_t peer,
                  const struct frame *frame,
                  const char *text)
{
    struct engine *engine = owner;

    if (frame->comm == FAILURE_COMM_ID_OF_LOST_RANK) {
        /* A rank that was cut off has given up the ranks it could not reach,
         * and says so when it is connected again: ignore it. */
        if (engine->liveness.ranks[peer].is_lost ||
            frame->op >= engine->roster->size ||
            frame->signature != engine->roster->members[frame->op].incarnation)
            return;
        engine_mark_lost(engine, (uint32_t)frame->op,
                         frame->tag == HOOP_E_RANK_FAILED ? EVIDENCE_GIVEN_UP
                                                          : EVIDENCE_TOLD,
                         text);
        return;
    }

    struct comm_context *context = engine_find_context(engine, frame->comm);
    if (frame->flags & FRAME_WITHDRAWN)
        failed_send_report_receive(engine, peer, frame, text);
    if (!context || (frame->flags & FRAME_WITHDRAWN))
        return;
    if (frame->flags & FRAME_POINT_TO_POINT)
        failure_notice_on_message(context, peer, frame, text);
    else if (frame->op == FAILURE_OP_NUMBER_WHOLE_COMM)
        revocation_receive(context, frame, text);
    else
        failure_notice_on_op(context, frame, text);
}

static void
on_heartbeat_frame(void *owner, uint32_t peer, const struct frame *frame)
{
    struct comm_context *context = engine_find_context(owner, frame->comm);

    if (frame->flags & FRAME_ASKS)
        heartbeat_note_asker(owner, peer);
    if (frame->comm == FAILURE_COMM_ID_OF_LOST_RANK)
        heartbeat_receive(owner, peer, frame);
    else if (!context && (frame->flags & FRAME_ASKS) &&
             !engine_keeps_frames_of_context(owner, frame->comm))
        state_query_answer_unknown_comm(owner, peer, frame);
    if (!context)
        return;
    if (frame->flags & FRAME_ASKS)
        state_query_receive(context, peer, frame);
    else
        state_query_apply_answer(context, peer, frame);
}

static void
on_control(void *owner,
           uint32_t peer,
           const struct frame *frame,
           const char *text)
{
    if (frame->kind == FRAME_FAILURE_NOTICE)
        on_failure_notice(owner, peer, frame, text);
    else
        on_heartbeat_frame(owner, peer, frame);
}

static void
on_peer_event(void *owner,
              uint32_t peer,
              enum transport_peer_event event,
              const char *why)
{
    struct engine *engine = owner;

    switch (event) {
    case TRANSPORT_GOODBYE_DUE:
        /* Send the reasons first: a peer that connected later has not heard
         * them. */
        failure_notice_send_lost_ranks(engine, peer);
        state_query_answer_before_leave(engine, peer);
        return;
    case TRANSPORT_GOODBYE_RECEIVED:
        engine_mark_left(engine, peer);
        return;
    case TRANSPORT_CLOSED:
        if (!engine->is_leaving && engine->liveness.ranks[peer].has_left)
            fail_ops_waiting_for_departed(engine);
        return;
    case TRANSPORT_CORRUPTED:
        /* Both ends live, and only this one knows that the connection is
         * corrupted. */
        engine_mark_lost(engine, peer, EVIDENCE_CLOSED, why);
        return;
    case TRANSPORT_NO_MEMORY:
        engine_fail_without_memory(engine, peer, why);
        return;
    case TRANSPORT_LOST:
        engine_suspect_rank(engine, peer, EVIDENCE_BROKEN, why);
        return;
    }
}

static void
on_connection_needed(void *owner, uint32_t peer, unsigned stream)
{
    const struct engine *engine = owner;
    const struct engine_options *options = &engine->options;

    if (stream == 0)
        options->on_connection_needed(options->owner, peer);
    else if (options->on_stream_needed)
        options->on_stream_needed(options->owner, peer, stream);
}

const struct transport_events engine_events = {
    .on_bytes_sent = on_bytes_sent,
    .on_arrived = on_arrived,
    .on_encoded = on_encoded,
    .on_matched = on_matched,
    .on_send_withdrawn = on_send_withdrawn,
    .on_unexpected = on_unexpected,
    .on_mismatch = on_mismatch,
    .on_control = on_control,
    .on_peer_event = on_peer_event,
    .on_connection_needed = on_connection_needed,
};
