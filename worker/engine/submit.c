/*
 * engine/submit.c - any thread creates operations, the progress owner begins
 * them
 *
 * An operation gets its number under the lock: the numbers are the order in
 * which all ranks must have called. If progress ownership is free, the caller
 * takes it for one turn, so that what can be sent is sent at once, or keeps it
 * to the end if it waits at once.
 */

#include "engine/submit.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "engine/call.h"
#include "engine/call_record.h"
#include "engine/command_queue.h"
#include "engine/fault_injection.h"
#include "engine/message_op.h"
#include "engine/op_pool.h"
#include "engine/op_run.h"
#include "engine/progress.h"
#include "engine/state.h"

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
                                    !atomic_load(&engine->inbox.has_commands);

    ops[0]->run.is_begun_by_waiter = is_begun_by_waiter;
    engine->is_progress_owned |= is_begun_by_waiter;
    return is_begun_by_waiter;
}

/* Give op its number. The caller holds the lock, so that no other thread writes
 * the counters. */
static void
op_assign_number(struct op *op)
{
    if (!op_is_message(op))
        op->run.number = context_take_op_number(op->run.context);
    else if (!op->message.flow.is_receive)
        op->run.number = (*op->message.next_message_number)++;
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
        op_record_called(ops[i]);
        if (!is_begun_by_waiter)
            TAILQ_INSERT_TAIL(&engine->inbox.submit_queue, ops[i], link);
    }
    if (!is_begun_by_waiter)
        atomic_store(&engine->inbox.has_commands, true);
    const bool owns_progress =
        mode == ENGINE_START && !engine->is_progress_owned;
    const bool is_progress_owned =
        engine->is_progress_owned && !is_begun_by_waiter;
    engine->is_progress_owned |= owns_progress;
    pthread_mutex_unlock(&engine->lock);

    if (owns_progress)
        progress_poll_by_op_starter(engine);
    else if (is_progress_owned)
        engine_wake_progress_owner(engine);
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
