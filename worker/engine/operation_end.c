/*
 * engine/operation_end.c - operations end, well or with a failure
 *
 * The details of a failure are made from the same facts as its text, so that a
 * program which reacts to a failure need not parse texts.
 */

#include "engine/operation_end.h"

#include <stdio.h>
#include <string.h>

#include "hoop/comm.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "dtype/dtype.h"
#include "engine/call_record.h"
#include "engine/context.h"
#include "engine/executor.h"
#include "engine/failure/activity.h"
#include "engine/failure/failure_notice.h"
#include "engine/failure/mismatch.h"
#include "engine/failure/op_history.h"
#include "engine/failure/wait_diagnosis.h"
#include "engine/fault_injection.h"
#include "engine/pending_polls.h"
#include "engine/shm_queue.h"
#include "engine/state.h"

static void
op_history_add_ended(const struct op *op)
{
    struct op_history_entry ended_op = {
        .number = op->run.number,
        .call = op->run.first_call,
        .flags = op->run.label.flags,
        .has_failed = op->run.status != HOOP_OK,
    };

    memcpy(ended_op.signatures, op->run.signatures, sizeof(op->run.signatures));
    op_history_add(&op->run.context->op_history, &ended_op);
}

/* Collectives poll for others after op, which has ended. */
static void
op_renew_polls(const struct op *op)
{
    if (!op_is_message(op))
        pending_polls_after_collective(op);
    else if (op->message.flow.is_receive)
        pending_polls_after_receive(op->run.context);
    else
        pending_polls_renew(op->run.context);
}

static void
op_close_flows(struct op *op)
{
    struct transport *transport = op->engine->transport;

    if (!op_is_message(op)) {
        if (op->run.is_shm_queued)
            shm_queue_remove(op);
        executor_abort(op);
        if (op->run.status != HOOP_OK)
            transport_drop_op_unexpected(transport, op->run.context->id,
                                         op->run.number);
        else
            transport_drop_early_grants(transport, op->run.context->id,
                                        op->run.number);
    } else if (op->message.flow.is_receive) {
        transport_receive_cancel(transport, &op->message.flow.in);
    } else {
        transport_send_cancel(transport, &op->message.flow.out);
    }
}

/* Returns the size as the caller counts it. */
static uint64_t
op_user_bytes(const struct op *op)
{
    const struct step_flow *flow = &op->message.flow;

    if (op_is_message(op))
        return flow->is_receive ? flow->in.total : flow->out.total;
    if (op->run.label.call.name == CALL_BARRIER)
        return 0;
    return op->run.label.call.count *
           dtype_size((enum hoop_dtype)op->run.label.call.dtype);
}

static uint64_t
op_user_number(const struct op *op)
{
    return op_is_message(op)
               ? message_user_number(op->run.number)
               : context_user_call_number(op->run.context, op->run.number);
}

/* Returns the details of op's failure. number is the one users know. */
static struct hoop_failure
op_failure_details(const struct op *op,
                   uint64_t number,
                   const struct failure_notice *failure_notice)
{
    const struct roster *roster = op->engine->roster;
    struct hoop_failure failure =
        failure_to_hoop_failure(roster, failure_notice);

    failure.operation =
        call_name_to_string((enum call_name)op->run.label.call.name);
    failure.sequence = number;
    context_copy_name(op->run.context, failure.communicator);
    failure.n_bytes = op_user_bytes(op);
    failure.elapsed_ms =
        (clock_now_ns() - op->run.wait.started_ns) / CLOCK_NS_PER_MS;
    failure.allowed_ms = op->run.wait.time_limit_ns / CLOCK_NS_PER_MS;
    /* A failure of this rank itself waited for nobody. */
    if (op->run.state == OP_RUNNING && failure_notice->rank != roster->rank)
        failure.waited_for = op_awaited_rank(op);
    return failure;
}

/* Add a deferred failure of an earlier call to op's own end; op->text may
 * change. Returns the status of both. */
static enum hoop_status
failure_notice_apply_deferred(struct op *op, enum hoop_status status)
{
    struct comm_context *context = op->run.context;
    char call[CALL_TEXT_MAX];

    if (!context->failure.has_deferred || status == HOOP_E_CLOSED)
        return status;
    context->failure.has_deferred = false;
    const size_t n_own = status == HOOP_OK ? 0 : strlen(op->failure.text);
    const char *verb = context->failure.deferred.status == HOOP_E_MISMATCH
                           ? "differed"
                           : "failed";
    call_describe(&op->run.label.call,
                  op_is_message(op) ? 0 : op_user_number(op), call);
    if (n_own == 0)
        snprintf(op->failure.text, sizeof(op->failure.text),
                 "%s is done, but an earlier call %s: %.700s", call, verb,
                 context->failure.deferred.why);
    else
        snprintf(op->failure.text + n_own, sizeof(op->failure.text) - n_own,
                 "; and an earlier call %s: %s", verb,
                 context->failure.deferred.why);
    op->failure.details =
        op_failure_details(op, op_is_message(op) ? 0 : op_user_number(op),
                           &context->failure.deferred);
    log_debug("engine", "%s", op->failure.text);
    return context->failure.deferred.status;
}

static enum engine_failure_kind
failure_kind_of_status(enum hoop_status status)
{
    switch ((int)status) {
    case HOOP_E_TIMEOUT:
        return ENGINE_FAILURE_TIMEOUT;
    case HOOP_E_PEER_LOST:
    case HOOP_E_RANK_FAILED:
        return ENGINE_FAILURE_LOST;
    case HOOP_E_MISMATCH:
        return ENGINE_FAILURE_MISMATCH;
    case HOOP_E_CANCELLED:
    case HOOP_E_CLOSED:
        return ENGINE_FAILURE_CANCELLED;
    }
    return ENGINE_FAILURE_OTHER;
}

/* own is how the operation ended, and told what its caller is told, which may
 * be the failure of an earlier call. */
static void
engine_count_end(struct engine *engine,
                 enum hoop_status own,
                 enum hoop_status told)
{
    if (own == HOOP_OK)
        engine_count_ended_op(engine);
    if (told != HOOP_OK)
        atomic_fetch_add_explicit(
            &engine->totals.failures[failure_kind_of_status(told)], 1,
            memory_order_relaxed);
}

/* End op with a status; its text and failure are set. */
static void
op_end(struct op *op, enum hoop_status status)
{
    struct engine *engine = op->engine;

    if (FAULT_IS_BUILT && op->run.label.faults && status == HOOP_OK)
        op_inject_fault(op, FAULT_AT_END, 0);
    op->run.status = status;
    if (op->run.state == OP_RUNNING) {
        op_close_flows(op);
        TAILQ_REMOVE(&engine->progress.running, op, link);
    }
    /* Drop the frames that came for op before it was refused. */
    if (op->run.state == OP_NEW && !op_is_message(op))
        transport_drop_op_unexpected(engine->transport, op->run.context->id,
                                     op->run.number);
    if (op->run.is_dirty)
        TAILQ_REMOVE(&engine->progress.dirty, op, run.dirty_link);
    op->run.is_dirty = false;
    op->run.state = status == HOOP_OK ? OP_ENDED : OP_FAILED;
    if (!op_is_message(op) && status != HOOP_OK &&
        (op->run.context->failure.first_number == 0 ||
         op->run.number < op->run.context->failure.first_number))
        op->run.context->failure.first_number = op->run.number;
    if (!op_is_message(op))
        op_history_add_ended(op);
    op_renew_polls(op);
    op->run.status = failure_notice_apply_deferred(op, status);
    if (!op_is_internal(op))
        engine_count_end(engine, status, op->run.status);
    op_record_ended(op, 0);
    TAILQ_INSERT_TAIL(&engine->progress.ended, op, link);
    /* The partner is ended later, because the caller may be walking the list
     * that it stands in. */
    if (status != HOOP_OK && op->run.partner)
        op_mark_dirty(op->run.partner);
}

void
op_complete(struct op *op)
{
    if (op_is_message(op) || !mismatch_check_surplus(op))
        op_end(op, HOOP_OK);
}

void
op_fail_as_partner(struct op *op)
{
    memcpy(op->failure.text, op->run.partner->failure.text,
           sizeof(op->failure.text));
    op->failure.details = op->run.partner->failure.details;
    op_end(op, op->run.partner->run.status);
}

void
op_fail_without_notice(struct op *op,
                       const struct failure_notice *failure_notice)
{
    char call[CALL_TEXT_MAX];

    call_describe(&op->run.label.call, op_user_number(op), call);
    snprintf(op->failure.text, sizeof(op->failure.text), "%s: %.820s", call,
             failure_notice->why);
    op_append_wait_text(op, failure_notice);
    activity_note_failure(op, failure_notice->status);
    op->failure.details =
        op_failure_details(op, op_user_number(op), failure_notice);
    log_debug("engine", "%s", op->failure.text);
    /* A rank that closes says goodbye, which is enough. */
    if (!op_is_message(op) && failure_notice->status != HOOP_E_CLOSED)
        failure_record_set(op->run.context, op->run.number, failure_notice);
    op_end(op, failure_notice->status);
}

void
op_fail(struct op *op, const struct failure_notice *failure_notice)
{
    op_fail_without_notice(op, failure_notice);
    /* Send the notices before the caller learns of the failure, because it may
     * tell other ranks by other means. */
    op->engine->progress.must_flush = true;
    if (!op_is_message(op) && failure_notice->status != HOOP_E_CLOSED)
        failure_notice_send_all(op->engine, op->run.context, op->run.number,
                                failure_notice);
}

void
op_fail_with_error(struct op *op, enum hoop_status status)
{
    const struct shm_execution *rounds = &op->run.rounds;
    const struct failure_notice failure_notice =
        failure_notice_make(status,
                            rounds->is_peer_at_fault ? rounds->peer_at_fault
                                                     : op->engine->roster->rank,
                            "%s", error_text());

    op_fail(op, &failure_notice);
}

void
context_fail_numbered_call(struct comm_context *context,
                           uint64_t number,
                           enum hoop_status status,
                           const char *why)
{
    struct engine *engine = context->engine;
    const struct op_history_entry ended_op = {.number = number,
                                              .has_failed = true};
    char name[ROSTER_NAME_MAX];

    context->next_op_number_to_begin = number + 1;
    pending_polls_renew(context);
    if (context->failure.first_number == 0)
        context->failure.first_number = number;
    op_history_add(&context->op_history, &ended_op);
    transport_drop_op_unexpected(engine->transport, context->id, number);
    pending_failure_drop(context, number);

    const struct failure_notice failure_notice = failure_notice_make(
        status, engine->roster->rank, "%s cannot take part: %.700s",
        roster_format_name(engine->roster, engine->roster->rank, name), why);
    failure_record_set(context, number, &failure_notice);
    engine->progress.must_flush = true;
    failure_notice_send_all(engine, context, number, &failure_notice);
}

void
context_fail_next_execute(struct comm_context *context,
                          enum hoop_status status,
                          const char *why)
{
    struct engine *engine = context->engine;

    pthread_mutex_lock(&engine->lock);
    const uint64_t number = context_take_op_number(context);
    pthread_mutex_unlock(&engine->lock);
    context_fail_numbered_call(context, number, status, why);
}
