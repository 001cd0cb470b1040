/*
 * engine/submit.c - any thread creates operations, the progress owner begins
 * them
 *
 * An operation gets its number under the lock: the numbers are the order in
 * which all ranks must have called. If progress ownership is free, the caller
 * takes it for one turn, so that what can be sent is sent at once, or keeps it
 * to the end if it waits at once.
 */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "dtype/dtype.h"
#include "engine/call.h"
#include "engine/context_command.h"
#include "engine/deadline.h"
#include "engine/failure/failure_detector.h"
#include "engine/failure/failure_notice.h"
#include "engine/failure/mismatch.h"
#include "engine/failure/revocation.h"
#include "engine/failure/state_query.h"
#include "engine/operation_end.h"
#include "engine/state.h"
#include "engine/wire_loss.h"
#include "fault/fault.h"

uint32_t
faults_of_call(const struct engine *engine, enum call_name name)
{
    return FAULT_IS_BUILT && engine->faults
               ? faults_begin(engine->faults, call_name_to_string(name))
               : 0;
}

void
op_inject_fault(const struct op *op, enum fault_point point, uint32_t round)
{
    const struct fault_event event = {
        .point = point,
        .peer = op_is_message(op) ? step_flow_peer(&op->message.flow)
                                  : FAULT_ANY_RANK,
        .round = round + 1,
    };

    faults_trigger(op->engine->faults, op->run.label.faults, &event);
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

/* A barrier checks itself. So does an agreement, which no rank begins alone. */
static bool
needs_call_check(const struct op *op)
{
    return (op->run.label.flags & FRAME_CHECKED) && op->run.context->size > 1 &&
           op->run.label.call.name != CALL_BARRIER &&
           op->run.label.call.name != CALL_AGREE;
}

/* A caller that waits at once begins its operations itself if progress
 * ownership is free and nothing was handed in before. The caller holds the
 * lock. Returns whether progress ownership was taken. */
static bool
ops_try_own_progress(struct op *const *ops, enum engine_start_mode mode)
{
    struct engine *engine = ops[0]->engine;
    const bool is_begun_by_waiter = mode == ENGINE_START_AND_WAIT &&
                                    !engine->is_progress_owned &&
                                    !atomic_load(&engine->has_commands);

    ops[0]->run.is_begun_by_waiter = is_begun_by_waiter;
    engine->is_progress_owned |= is_begun_by_waiter;
    return is_begun_by_waiter;
}

/* Give op its number. The caller holds the lock, so that no other thread writes
 * the counters. */
static void
op_assign_number(struct op *op)
{
    _Atomic uint64_t *next = &op->run.context->next_op_number;

    if (!op_is_message(op)) {
        op->run.number = atomic_load_explicit(next, memory_order_relaxed);
        atomic_store_explicit(next, op->run.number + 1, memory_order_release);
    } else if (!op->message.flow.is_receive) {
        op->run.number = (*op->message.next_message_number)++;
    }
}

/* Make progress for one turn. The caller owns progress, and gives it up on
 * return. */
static void
progress_poll_by_op_starter(struct engine *engine)
{
    CLEANUP(cancel_release) const int held = cancel_hold();

    progress_poll(engine, 0);
    progress_release(engine);
}

/* Number operations and hand them in. Several operations that are waited for at
 * once form a pair. */
static void
ops_submit(struct op *const *ops, size_t n_ops, enum engine_start_mode mode)
{
    struct engine *engine = ops[0]->engine;

    pthread_mutex_lock(&engine->lock);
    const bool is_begun_by_waiter = ops_try_own_progress(ops, mode);
    for (size_t i = 0; i < n_ops; i++) {
        op_assign_number(ops[i]);
        if (!is_begun_by_waiter)
            TAILQ_INSERT_TAIL(&engine->submit_queue, ops[i], link);
    }
    if (!is_begun_by_waiter)
        atomic_store(&engine->has_commands, true);
    const bool owns_progress =
        mode == ENGINE_START && !engine->is_progress_owned;
    const bool is_progress_owned =
        engine->is_progress_owned && !is_begun_by_waiter;
    engine->is_progress_owned |= owns_progress;
    pthread_mutex_unlock(&engine->lock);

    if (owns_progress)
        progress_poll_by_op_starter(engine);
    else if (is_progress_owned)
        progress_wake(engine);
}

void
op_begin_by_waiter(struct op *op)
{
    assert(op->run.is_begun_by_waiter);
    op->run.is_begun_by_waiter = false;
    op_begin(op);
    if (op->run.partner)
        op_begin(op->run.partner);
}

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

static enum hoop_status
collective_create_and_submit(struct comm_context *context,
                             const struct engine_collective *collective,
                             uint32_t faults,
                             struct op **out_op)
{
    enum hoop_status status = engine_check_not_forked(context->engine);

    if (status != HOOP_OK)
        return error_pass(status);
    struct op *op = op_alloc(context, collective->algorithm);
    if (!op)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for an operation");
    op->run.label.faults = faults;
    status = op_set_collective(op, collective);
    if (status != HOOP_OK) {
        op_destroy(op);
        return error_pass(status);
    }
    op->run.is_call_check_stage = needs_call_check(op);
    if (op->run.is_call_check_stage)
        op_set_reduction_kernels(op);
    op->run.chain = collective->chain;
    ops_submit(&op, 1, collective->mode);
    *out_op = op;
    return HOOP_OK;
}

enum hoop_status
op_start_collective(struct comm_context *context,
                    const struct engine_collective *collective,
                    uint32_t faults,
                    struct op **out_op)
{
    const enum hoop_status status =
        collective_create_and_submit(context, collective, faults, out_op);
    struct chain chain = collective->chain;

    if (status != HOOP_OK) {
        op_chain_deinit(&chain);
        return error_pass(status);
    }
    return HOOP_OK;
}

enum hoop_status
engine_start_collective(struct comm_context *context,
                        const struct engine_collective *collective,
                        struct op **out_op)
{
    const uint32_t faults =
        faults_of_call(context->engine, collective->call.name);

    return op_start_collective(context, collective, faults, out_op);
}

/* Creates all operations or none. */
static enum hoop_status
message_ops_create(struct comm_context *context,
                   const struct engine_message *messages,
                   size_t n_messages,
                   struct op **out_ops)
{
    const enum hoop_status alive = engine_check_not_forked(context->engine);

    if (alive != HOOP_OK)
        return error_pass(alive);
    for (size_t i = 0; i < n_messages; i++) {
        out_ops[i] = message_op_create(context, &messages[i]);
        if (out_ops[i])
            continue;
        while (i > 0)
            op_destroy(out_ops[--i]);
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a message");
    }
    return HOOP_OK;
}

enum hoop_status
engine_start_messages(struct comm_context *context,
                      const struct engine_message *messages,
                      size_t n_messages,
                      struct op **out_ops)
{
    const enum hoop_status status =
        message_ops_create(context, messages, n_messages, out_ops);

    if (status != HOOP_OK)
        return error_pass(status);
    if (n_messages > 0)
        ops_submit(out_ops, n_messages, messages[0].mode);
    return HOOP_OK;
}

enum hoop_status
engine_start_message_pair(struct comm_context *context,
                          const struct engine_message pair[2],
                          struct op **out_op)
{
    struct op *ops[2];
    const enum hoop_status status = message_ops_create(context, pair, 2, ops);

    if (status != HOOP_OK)
        return error_pass(status);
    ops[0]->run.partner = ops[1];
    ops[1]->run.partner = ops[0];
    ops_submit(ops, 2, pair[0].mode);
    *out_op = ops[0];
    return HOOP_OK;
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

/* Returns whether op has ended because ranks it needs are gone, or had called
 * something else before. Receives of messages that a rank sent before it was
 * lost may still succeed. */
static bool
op_cannot_succeed(struct op *op)
{
    struct failure_notice failure_notice;

    if (!op_is_message(op))
        mismatch_check_early_frames(op);
    if (!op_is_message(op) && op->run.state == OP_RUNNING)
        state_query_apply_final(op);
    if (op->run.state == OP_RUNNING &&
        !(op_is_message(op) && op->message.flow.is_receive) &&
        op_cannot_end(op, &failure_notice))
        op_fail(op, &failure_notice);
    return op->run.state != OP_RUNNING;
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

static void
begin_collective(struct op *op)
{
    bool is_complete = false;

    shm_queue_add(op);
    enum hoop_status status = executor_begin(op);

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
    struct failure_notice failure_notice;

    if (!op_is_message(op))
        op->run.context->next_op_number_to_begin = op->run.number + 1;
    if (op_refuse_start(op))
        return;
    op->run.state = OP_RUNNING;
    TAILQ_INSERT_TAIL(&engine->running, op, link);
    if (op_first_check_ns(op) < engine->deadline_ns)
        engine->deadline_ns = op_first_check_ns(op);
    if (op_cannot_succeed(op))
        return;
    if (op_is_message(op))
        op_begin_message(op);
    else
        begin_collective(op);
    if (op->run.state == OP_RUNNING && op_cannot_end(op, &failure_notice))
        op_fail(op, &failure_notice);
}

static const char *const recoveries[] = {"shrink", "agree", "grow"};

bool
fault_call_name_exists(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(recoveries); i++) {
        if (strcmp(recoveries[i], name) == 0)
            return true;
    }
    return call_name_exists(name);
}

uint32_t
recovery_fault_begin(struct engine *engine, const char *name)
{
    return FAULT_IS_BUILT && engine->faults ? faults_begin(engine->faults, name)
                                            : 0;
}

void
recovery_fault_inject(struct engine *engine,
                      uint32_t rules,
                      enum fault_point point,
                      uint64_t round)
{
    const struct fault_event event = {
        .point = point,
        .peer = FAULT_ANY_RANK,
        .round = round,
    };

    if (FAULT_IS_BUILT && rules)
        faults_trigger(engine->faults, rules, &event);
}
