/*
 * engine/failure/state_query.c - a waiting rank asks others what they have
 * called
 *
 * A frame of another call reveals a mismatch, but a rank that sends nothing
 * reveals nothing: two ranks may both wait for each other, or one had nothing
 * to send and has returned. So a rank that waits for long asks. The answer says
 * what the other rank has called, that the call has ended, how it has failed,
 * what keeps the rank busy, or that the rank does not have the communicator and
 * never will. A rank that leaves answers beforehand, because it cannot be asked
 * any more.
 */

#include "engine/failure/state_query.h"

#include <stdlib.h>

#include "engine/context.h"
#include "engine/executor.h"
#include "engine/failure/failure_notice.h"
#include "engine/failure/lost_rank.h"
#include "engine/failure/mismatch.h"
#include "engine/failure/op_history.h"
#include "engine/failure/operations.h"
#include "engine/failure/revocation.h"
#include "engine/shm_executor.h"
#include "engine/state.h"

enum {
    /* Calls per communicator of which a leaving rank tells. */
    FINAL_STATE_OPS_PER_COMM = 8,
};

/* Send frame, a question or an answer about a call of context. */
static void
state_frame_send(const struct comm_context *context,
                 uint32_t peer,
                 struct frame frame)
{
    frame.kind = FRAME_HEARTBEAT;
    frame.epoch = context->engine->roster->epoch;
    frame.comm = context->id;
    transport_send_control(context->engine->transport, peer, &frame, NULL);
}

/* Returns whether op is in the first stage of the call itself. In the check
 * before it, and in later stages, peers that are further on do not know what
 * lengths are awaited. */
static bool
is_in_first_stage(const struct op *op)
{
    return op_stage(op) == 0;
}

static uint64_t
flow_awaited_bytes(const struct step_flow *flow)
{
    return flow->is_receive && is_in_first_stage(flow->op) ? flow->in.total : 0;
}

void
state_query_send(const struct step_flow *flow)
{
    const struct op *op = flow->op;

    if (step_flow_peer(flow) == FLOW_ANY_PEER)
        return;
    state_frame_send(
        op->run.context, step_flow_peer(flow),
        (struct frame){
            .flags = FRAME_ASKS |
                     (op_is_message(op) ? FRAME_POINT_TO_POINT : 0) |
                     op->run.label.flags,
            .op = op_is_message(op) ? 0 : op->run.number,
            .signature = op->run.signatures[0],
            .total = flow_awaited_bytes(flow),
            .call = op_is_message(op) ? op->run.label.call : op->run.first_call,
        });
}

static struct frame
running_op_answer(const struct op *op)
{
    return (struct frame){
        .flags = op->run.label.flags,
        .op = op->run.number,
        .step = op->run.is_call_check_stage
                    ? 0
                    : op->run.stage << STAGE_IN_STEP_SHIFT,
        .signature = op->run.signatures[0],
        .call = op->run.first_call,
    };
}

static struct frame
ended_op_answer(const struct op_history_entry *ended_op)
{
    return (struct frame){
        .flags = FRAME_ENDED | ended_op->flags,
        .op = ended_op->number,
        .signature = ended_op->signatures[0],
        .call = ended_op->call,
    };
}

/* Returns the oldest running operation of context, or else the oldest of any
 * other communicator. NULL: nothing runs. */
static const struct op *
find_oldest_running_op(const struct comm_context *context)
{
    const struct op *other = NULL;
    const struct op *op;

    TAILQ_FOREACH(op, &context->engine->progress.running, link)
    {
        if (op->run.context == context)
            return op;
        if (!other)
            other = op;
    }
    return other;
}

/* The call that peer asks about has not been made here: answer with what runs
 * instead. If that is an operation of another communicator, total holds that
 * communicator's id, and the number is the one that users count, since peer may
 * not be a member. */
static void
send_busy_answer(const struct comm_context *context,
                 uint32_t peer,
                 const struct frame *question)
{
    struct frame answer = {
        .flags = FRAME_BUSY | (question->flags & FRAME_POINT_TO_POINT),
        .op = question->op,
    };
    const struct op *op = find_oldest_running_op(context);

    if (op) {
        answer.call = op->run.label.call;
        answer.offset = op_is_message(op) ? 0 : op->run.number;
    }
    if (op && op->run.context != context) {
        answer.total = op->run.context->id;
        answer.offset =
            context_user_call_number(op->run.context, answer.offset);
    }
    state_frame_send(context, peer, answer);
}

static void
send_ended_answer(const struct comm_context *context,
                  uint32_t peer,
                  uint64_t number)
{
    const struct op_history_entry *ended_op =
        op_history_find(&context->op_history, number);
    const bool is_noted = context->failure.number == number;
    const struct frame failure_notice = {
        .kind = FRAME_FAILURE_NOTICE,
        .epoch = context->engine->roster->epoch,
        .comm = context->id,
        .op = number,
        .tag = is_noted ? context->failure.notice.status : HOOP_E_ABORTED,
        .call.root =
            is_noted ? failure_notice_pack_rank(context->failure.notice.rank)
                     : 0,
    };
    char told[LIMIT_ERROR_TEXT];

    if (op_history_has_failed(&context->op_history, number))
        transport_send_control(
            context->engine->transport, peer, &failure_notice,
            is_noted ? lost_rank_describe_to_others(
                           context->engine, context->failure.notice.why, told)
                     : "it has failed on another rank");
    else
        state_frame_send(
            context, peer,
            ended_op ? ended_op_answer(ended_op)
                     : (struct frame){.flags = FRAME_ENDED, .op = number});
}

/* Returns how many bytes op, an alltoallv, sends to peer. */
static uint64_t
alltoallv_send_bytes_to_peer(const struct op *op, uint32_t peer)
{
    uint32_t rank = 0;

    while (rank < op->run.shape.size && op_member_world_rank(op, rank) != peer)
        rank++;
    return rank < op->run.shape.size
               ? op->run.shape.counts[rank] * op->run.element_size
               : 0;
}

void
state_query_receive(struct comm_context *context,
                    uint32_t peer,
                    const struct frame *frame)
{
    const struct op *op = context_find_running_op(context, frame->op);

    if (revocation_send_if_revoked(context, peer))
        return;
    if ((frame->flags & FRAME_POINT_TO_POINT) ||
        frame->op >= atomic_load(&context->next_op_number)) {
        send_busy_answer(context, peer, frame);
        return;
    }
    if (!op && frame->op < context->next_op_number_to_begin) {
        send_ended_answer(context, peer, frame->op);
        return;
    }
    /* If this rank sends peer nothing, the mismatch never shows otherwise. */
    if (op && op->run.shape.recv_counts && is_in_first_stage(op) &&
        frame->total > 0 && frame->signature == op->run.signatures[0] &&
        frame->total != alltoallv_send_bytes_to_peer(op, peer)) {
        mismatch_report_size(
            context, peer,
            &(struct size_mismatch){
                .number = op->run.number,
                .call = &op->run.label.call,
                .n_expected = frame->total,
                .n_sent = alltoallv_send_bytes_to_peer(op, peer),
                .is_sent = true,
            });
        return;
    }
    state_frame_send(context, peer,
                     op ? running_op_answer(op)
                        : (struct frame){.op = frame->op});
}

/* This rank does not have the communicator and will not get it. For example, it
 * gave up forming it while the asker was being told that all had come; it could
 * not tell the asker, which did not have the communicator yet. */
void
state_query_answer_unknown_comm(struct engine *engine,
                                uint32_t peer,
                                const struct frame *frame)
{
    const struct frame answer = {
        .kind = FRAME_HEARTBEAT,
        .flags = FRAME_ENDED | FRAME_WITHDRAWN,
        .epoch = engine->roster->epoch,
        .comm = frame->comm,
        .op = frame->op,
    };

    if (!(frame->flags & FRAME_POINT_TO_POINT))
        transport_send_control(engine->transport, peer, &answer, NULL);
}

/* Returns whether the answering rank has sent all that it had for op's
 * stage. */
static bool
has_finished_stage(const struct op *op, const struct frame *answer)
{
    return (answer->flags & FRAME_ENDED) ||
           answer->step >> STAGE_IN_STEP_SHIFT > op->run.stage;
}

/* peer has finished op. Returns whether op still waits for data on flow, which
 * will never come. */
static bool
is_missing_data(const struct step_flow *flow,
                struct size_mismatch *out_mismatch)
{
    const struct op *op = flow->op;
    const bool is_receive = flow->is_receive;

    *out_mismatch = (struct size_mismatch){
        .number = op->run.number,
        .call = &op->run.label.call,
        .n_expected = is_receive ? flow->in.total : flow->out.framed,
        .n_sent = is_receive ? flow->in.arrived : flow->out.total,
        .is_sent = !is_receive,
    };
    return is_receive ? !transport_has_all_bytes(&flow->in)
                      : flow->out.framed < flow->out.total;
}

static void
op_fail_peer_freed_comm(struct op *op, uint32_t peer)
{
    char name[ROSTER_NAME_MAX];
    const struct failure_notice failure_notice = failure_notice_make(
        HOOP_E_PEER_LOST, peer, "%s has freed the communicator, or given it up",
        roster_format_name(op->engine->roster, peer, name));

    op_fail(op, &failure_notice);
}

static void
collective_apply_answer(struct op *op, uint32_t peer, const struct frame *frame)
{
    struct step_flow *flow;
    struct size_mismatch size_mismatch;

    if (frame->signature != 0 && frame->signature != op->run.signatures[0]) {
        mismatch_report_calls(op->run.context, peer, frame);
        return;
    }
    if (op_is_shm(op))
        shm_executor_list_awaited(op);
    TAILQ_FOREACH(flow, &op->run.step_flows, link)
    {
        if (step_flow_peer(flow) != peer)
            continue;
        flow->is_peer_in_other_call = frame->flags & FRAME_BUSY;
        flow->has_peer_called = !flow->is_peer_in_other_call;
        flow->current_peer_call = *frame;
        if (!has_finished_stage(op, frame) ||
            !is_missing_data(flow, &size_mismatch))
            continue;
        if (frame->flags & FRAME_WITHDRAWN)
            op_fail_peer_freed_comm(op, peer);
        else
            mismatch_report_size(op->run.context, peer, &size_mismatch);
        return;
    }
}

/* Record the answer in messages that wait for peer, which have asked before
 * their warning or deadline. */
static void
messages_apply_answer(struct comm_context *context,
                      uint32_t peer,
                      const struct frame *frame)
{
    struct op *op;

    TAILQ_FOREACH(op, &context->engine->progress.running, link)
    {
        if (op->run.context != context || !op_is_message(op) ||
            step_flow_peer(&op->message.flow) != peer)
            continue;
        op->message.flow.is_peer_in_other_call = true;
        op->message.flow.current_peer_call = *frame;
    }
}

/* Keep the final state of a leaving rank, whose call this rank has not made
 * yet. Without it a call that differs would fail only because that rank has
 * left. */
static void
final_state_record(struct comm_context *context,
                   uint32_t peer,
                   const struct frame *frame)
{
    if (context->engine->is_leaving ||
        context->n_final_states == LIMIT_EARLY_FAILURES)
        return;
    struct final_state *final_state = malloc(sizeof(*final_state));
    if (!final_state) {
        char name[ROSTER_NAME_MAX];

        roster_format_name(context->engine->roster, peer, name);
        context_revoke_for_lack(context, "no memory", name);
        return;
    }
    final_state->peer = peer;
    final_state->frame = *frame;
    TAILQ_INSERT_TAIL(&context->final_states, final_state, link);
    context->n_final_states++;
}

void
state_query_apply_answer(struct comm_context *context,
                         uint32_t peer,
                         const struct frame *frame)
{
    struct op *op = context_find_running_op(context, frame->op);

    if (frame->flags & FRAME_POINT_TO_POINT)
        messages_apply_answer(context, peer, frame);
    else if (op)
        collective_apply_answer(op, peer, frame);
    else if (frame->op >= context->next_op_number_to_begin &&
             (frame->flags & FRAME_ENDED))
        final_state_record(context, peer, frame);
}

static void
final_state_send(const struct comm_context *context, uint32_t peer)
{
    const uint64_t next = context->next_op_number_to_begin;
    const uint64_t first =
        next > FINAL_STATE_OPS_PER_COMM ? next - FINAL_STATE_OPS_PER_COMM : 1;

    for (uint64_t number = first; number < next; number++) {
        /* Failures have been told to the ranks that were connected at that
         * time. */
        if (context->failure.number == number ||
            !op_history_has_failed(&context->op_history, number))
            send_ended_answer(context, peer, number);
    }
}

void
state_query_answer_before_leave(struct engine *engine, uint32_t peer)
{
    const struct comm_context *context;

    pthread_mutex_lock(&engine->lock);
    TAILQ_FOREACH(context, &engine->contexts.open, link)
    {
        if (context_has_member(context, peer))
            final_state_send(context, peer);
    }
    pthread_mutex_unlock(&engine->lock);
}

void
state_query_answer_before_free(const struct comm_context *context)
{
    for (uint32_t i = 0; i < context->size; i++) {
        if (i != context->rank)
            final_state_send(context, context->ranks[i]);
    }
}

static void
final_state_destroy(struct comm_context *context,
                    struct final_state *final_state)
{
    TAILQ_REMOVE(&context->final_states, final_state, link);
    context->n_final_states--;
    free(final_state);
}

void
state_query_apply_final(struct op *op)
{
    struct comm_context *context = op->run.context;
    struct final_state *next;

    for (struct final_state *at = TAILQ_FIRST(&context->final_states); at;
         at = next) {
        next = TAILQ_NEXT(at, link);
        if (at->frame.op > op->run.number)
            continue;
        if (at->frame.op == op->run.number && op->run.state == OP_RUNNING &&
            at->frame.signature != op->run.signatures[0])
            mismatch_report_calls(context, at->peer, &at->frame);
        final_state_destroy(context, at);
    }
}

void
state_query_clear_final(struct comm_context *context)
{
    while (!TAILQ_EMPTY(&context->final_states))
        final_state_destroy(context, TAILQ_FIRST(&context->final_states));
}
