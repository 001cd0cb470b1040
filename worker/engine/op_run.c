/*
 * engine/op_run.c - begins an operation and runs its stages up to its end
 *
 * An operation runs one collective, or several in a row: a chain. Each stage is
 * executed by messages (executor.c) or through shared memory (shm_executor.c).
 */

#include "engine/op_run.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dtype/dtype.h"
#include "engine/call_record.h"
#include "engine/deadline.h"
#include "engine/executor.h"
#include "engine/failure/failure_detector.h"
#include "engine/failure/failure_notice.h"
#include "engine/failure/mismatch.h"
#include "engine/failure/revocation.h"
#include "engine/failure/state_query.h"
#include "engine/operation_end.h"
#include "engine/pending_polls.h"
#include "engine/shm_executor.h"
#include "engine/shm_queue.h"
#include "engine/state.h"
#include "engine/wire_loss.h"

static enum hoop_status
counts_copy(struct op *op, const struct plan_shape *shape)
{
    const size_t n_counts = 2 * (size_t)shape->size;

    op->run.shape = *shape;
    if (!shape->counts)
        return HOOP_OK;
    if (op->cache.counts_capacity < n_counts) {
        size_t *counts =
            reallocarray(op->cache.counts, n_counts, sizeof(*counts));

        if (!counts)
            return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu counts",
                               n_counts);
        op->cache.counts = counts;
        op->cache.counts_capacity = n_counts;
    }
    memcpy(op->cache.counts, shape->counts,
           shape->size * sizeof(*op->cache.counts));
    op->run.shape.counts = op->cache.counts;
    if (!shape->recv_counts)
        return HOOP_OK;
    memcpy(op->cache.counts + shape->size, shape->recv_counts,
           shape->size * sizeof(*op->cache.counts));
    op->run.shape.recv_counts = op->cache.counts + shape->size;
    return HOOP_OK;
}

static void
op_set_label(struct op *op, const struct call *call)
{
    const bool is_checked =
        op->engine->config->checking == ENGINE_CHECK_BEFORE_DATA;
    const uint32_t flags = is_checked ? FRAME_CHECKED : 0;

    op->run.label = (struct flow_label){
        .epoch = op->engine->roster->epoch,
        /* All ranks must check first, or none. */
        .signature = call_signature(call) ^ flags,
        .flags = flags,
        /* The fault rules stay the same for all stages. */
        .faults = op->run.label.faults,
        .call = call_to_frame_call(call),
    };
}

void
op_set_reduction_kernels(struct op *op)
{
    const bool is_bytes =
        op->run.is_call_check_stage || op->run.label.call.name == CALL_BARRIER;
    const enum hoop_dtype dtype =
        is_bytes ? HOOP_UINT8 : (enum hoop_dtype)op->run.label.call.dtype;
    const enum hoop_reduce_op reduce_op =
        is_bytes ? HOOP_BOR : (enum hoop_reduce_op)op->run.label.call.reduce_op;

    op->run.element_size = dtype_size(dtype);
    op->run.reduce = reduction_find(dtype, reduce_op);
    op->run.divide = reduce_op == HOOP_AVG ? division_find(dtype) : NULL;
}

enum hoop_status
op_set_collective(struct op *op, const struct engine_collective *collective)
{
    op->cache.has_recorded_call = false;
    op->run.algorithm = collective->algorithm;
    op->run.members = collective->members;
    op->run.loss = collective->loss;
    op->run.input = collective->input;
    op->run.output = collective->output;
    op_set_label(op, &collective->call);
    op_set_reduction_kernels(op);
    op->run.signatures[op->run.stage] = op->run.label.signature;
    if (op->run.stage == 0)
        op->run.first_call = op->run.label.call;
    enum hoop_status status = counts_copy(op, &collective->shape);
    if (status == HOOP_OK && op->run.loss == LOSS_INT8)
        status = residual_apply_to_input(
            op, collective->place ? collective->place : collective->input);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Begin the current stage. */
static enum hoop_status
stage_begin(struct op *op)
{
    if (!op_is_shm(op))
        return executor_begin(op);
    const enum hoop_status status = op_scratch_ensure(op, &op->run.shape);
    return status == HOOP_OK ? shm_executor_begin(op) : error_pass(status);
}

static enum hoop_status
stage_advance(struct op *op, bool *out_is_complete)
{
    return op_is_shm(op) ? shm_executor_advance(op, out_is_complete)
                         : executor_advance(op, out_is_complete);
}

/* All ranks have made the same call: now execute it. */
static enum hoop_status
start_after_call_check(struct op *op, bool *out_has_next)
{
    op->run.is_call_check_stage = false;
    op_set_reduction_kernels(op);
    *out_has_next = true;
    return stage_begin(op);
}

/* Ask the chain for its next stage; *out_has_next is false if there is none. */
static enum hoop_status
chain_start_next_stage(struct op *op, bool *out_has_next)
{
    struct engine_collective next = {.algorithm = NULL};

    *out_has_next = false;
    if (!op->run.chain.next)
        return HOOP_OK;
    enum hoop_status status =
        op->run.chain.next(op->run.chain.owner, op->run.stage + 1, &next);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!next.algorithm) {
        op->run.chain.next = NULL;
        return HOOP_OK;
    }
    op->run.stage++;
    assert(op->run.stage < STAGES_MAX);
    if (op->run.residual)
        residual_return_to_context(op);
    status = op_set_collective(op, &next);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_has_next = true;
    return stage_begin(op);
}

enum hoop_status
op_chain_advance(struct op *op, bool *out_is_complete)
{
    bool has_next = true;

    while (has_next) {
        enum hoop_status status = stage_advance(op, out_is_complete);

        if (status == HOOP_OK && !*out_is_complete)
            return HOOP_OK;
        if (status == HOOP_OK)
            status = op->run.is_call_check_stage
                         ? start_after_call_check(op, &has_next)
                         : chain_start_next_stage(op, &has_next);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

bool
op_fail_if_cancelled(struct op *op)
{
    const struct roster *roster = op->engine->roster;
    char name[ROSTER_NAME_MAX];

    if (!atomic_load(&op->run.is_cancelled))
        return false;
    const struct failure_notice failure_notice = failure_notice_make(
        HOOP_E_CANCELLED, roster->rank, "it was given up by %s",
        roster_format_name(roster, roster->rank, name));
    op_fail(op, &failure_notice);
    return true;
}

static bool
op_fail_if_pending(struct op *op)
{
    struct failure_notice notice;

    if (!op_take_pending_failure(op, &notice))
        return false;
    op_fail_without_notice(op, &notice);
    return true;
}

/* Returns whether nothing is known that could keep op from beginning or from
 * ending, so that no reason for that need be looked for. */
static bool
op_is_undisturbed(const struct op *op)
{
    const struct comm_context *context = op->run.context;
    const struct engine *engine = op->engine;

    return engine->liveness.n_lost == 0 && engine->liveness.n_left == 0 &&
           !engine->is_leaving && !op->run.partner &&
           !atomic_load(&op->run.is_cancelled) &&
           !context->failure.is_revoked &&
           TAILQ_EMPTY(&context->failure.pending) &&
           context->n_final_states == 0;
}

static bool
op_refuse_start(struct op *op)
{
    if (op->engine->is_leaving) {
        const struct failure_notice failure_notice = failure_notice_make(
            HOOP_E_CLOSED, HOOP_NO_RANK, "the session is being left");

        op_fail(op, &failure_notice);
        return true;
    }
    if (op_has_failed_partner(op)) {
        op_fail_as_partner(op);
        return true;
    }
    return op_fail_if_cancelled(op) || op_fail_if_revoked(op) ||
           op_fail_if_pending(op);
}

/* End op if ranks it needs are gone, or had called something else before they
 * left. Receives of messages that a rank sent before it was lost may still
 * succeed. */
static void
op_fail_if_ranks_are_gone(struct op *op)
{
    struct failure_notice failure_notice;

    if (!op_is_message(op))
        state_query_apply_final(op);
    if (op->run.state == OP_RUNNING &&
        !(op_is_message(op) && op->message.flow.is_receive) &&
        op_cannot_end(op, &failure_notice))
        op_fail(op, &failure_notice);
}

static void
op_begin_message(struct op *op)
{
    struct transport *transport = op->engine->transport;

    if (op->message.flow.is_receive) {
        transport_receive(transport, &op->message.flow.in);
    } else {
        op->message.flow.out.key.op = op->run.number;
        transport_send(transport, &op->message.flow.out);
    }
}

/* Returns whether op, which has all that it waits for, must poll the other
 * sockets before it ends. No poll is made inside a poll, where an operation may
 * end because a rank is lost. */
static bool
must_poll_before_end(const struct op *op)
{
    return !op_is_message(op) &&
           !transport_is_in_progress(op->engine->transport) &&
           (op_is_shm(op) || op->engine->progress.may_poll_idle_sockets) &&
           must_poll_for_others(op->run.context, op->run.algorithm,
                                &op->run.label.call);
}

void
op_poll_and_complete(struct op *op)
{
    struct engine *engine = op->engine;

    if (must_poll_before_end(op)) {
        engine->progress.may_poll_idle_sockets = false;
        transport_progress(engine->transport, 0);
    }
    if (op->run.state == OP_RUNNING)
        op_complete(op);
}

static void
begin_collective(struct op *op)
{
    bool is_complete = false;

    if (op->run.context->shm_region)
        shm_queue_add(op);
    enum hoop_status status = stage_begin(op);

    if (status == HOOP_OK && executor_can_progress(op))
        status = op_chain_advance(op, &is_complete);
    if (status != HOOP_OK)
        op_fail_with_error(op, status);
    else if (is_complete)
        op_poll_and_complete(op);
}

/* A message asks its peer nothing for long, but heartbeats of the ranks that it
 * waits for must be checked. */
static uint64_t
op_first_check_ns(const struct op *op)
{
    const uint64_t look_ns =
        op->run.wait.started_ns + OP_QUERY_INTERVAL_FIRST_NS;
    const uint64_t due_ns = op_next_check_ns(op);

    return due_ns < look_ns ? due_ns : look_ns;
}

void
op_begin(struct op *op)
{
    struct engine *engine = op->engine;
    const bool is_undisturbed = op_is_undisturbed(op);
    struct failure_notice failure_notice;

    if (!op_is_message(op))
        op->run.context->next_op_number_to_begin = op->run.number + 1;
    if (!is_undisturbed && op_refuse_start(op))
        return;
    op->run.state = OP_RUNNING;
    recorder_begun(engine->recorder, op->run.record);
    TAILQ_INSERT_TAIL(&engine->progress.running, op, link);
    if (op_first_check_ns(op) < engine->progress.deadline_ns)
        engine->progress.deadline_ns = op_first_check_ns(op);
    if (!op_is_message(op))
        mismatch_check_early_frames(op);
    if (!is_undisturbed && op->run.state == OP_RUNNING)
        op_fail_if_ranks_are_gone(op);
    if (op->run.state != OP_RUNNING)
        return;
    if (op_is_message(op))
        op_begin_message(op);
    else
        begin_collective(op);
    /* A connection that could not be made may have lost a rank meanwhile. */
    if (op->run.state == OP_RUNNING &&
        (engine->liveness.n_lost > 0 || engine->liveness.n_left > 0) &&
        op_cannot_end(op, &failure_notice))
        op_fail(op, &failure_notice);
}
