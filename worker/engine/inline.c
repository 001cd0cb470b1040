/*
 * engine/inline.c - a caller executes a small collective inline
 *
 * engine/inline.h has the contract. The context keeps a cached operation, which
 * is in no list and keeps its plan for the next identical call. An ordinary
 * operation continues with its number.
 *
 * - Through shared memory the caller posts, polls until all peers have posted,
 *   and fetches. A single small round is first tried under the lock, which the
 *   call has taken for its number and which keeps other threads out as well as
 *   progress ownership does: mostly all others have posted, and to take the
 *   ownership and give it up would cost a second lock. Later polls are made
 *   with progress ownership. An ordinary operation continues from the current
 *   round, which may have been posted.
 * - Otherwise the caller, with progress ownership, sends and receives the
 *   blocks of a small plan in the order of its rounds (executor.h). It waits
 *   for all as long as an operation would for one without sleeping. An ordinary
 *   operation continues with the steps that are not done, and with the wait.
 *   Meanwhile nothing else is read: only the operation, once it runs, can be
 *   told of a mismatch or failure.
 */

#include "engine/inline.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "engine/call_record.h"
#include "engine/executor.h"
#include "engine/failure/op_history.h"
#include "engine/fault_injection.h"
#include "engine/op_pool.h"
#include "engine/op_run.h"
#include "engine/operation_end.h"
#include "engine/pending_polls.h"
#include "engine/progress.h"
#include "engine/shm_executor.h"
#include "engine/state.h"
#include "engine/submit.h"
#include "engine/wait.h"
#include "fault/fault.h"
#include "transport/shm/region.h"

enum {
    /* A round that touches more is not done under the lock, for which other
     * threads would wait for longer than a wake-up takes. */
    INLINE_LOCKED_BYTES_MAX = 32 << 10,
    /* A call of more elements is not planned to see how large its blocks are:
     * most would be too large. */
    INLINE_BLOCK_ELEMENTS_MAX = TRANSPORT_INLINE_BYTES_MAX,
};

/* Returns whether the cached plan fits. The fields not compared here are the
 * same for all calls of a context. */
static bool
is_cached_plan_reusable(const struct op *op,
                        const struct engine_collective *collective)
{
    const struct plan_shape *old = &op->run.shape;
    const struct plan_shape *new = &collective->shape;

    return op->run.algorithm == collective->algorithm &&
           old->count == new->count && old->root == new->root &&
           old->is_in_place == new->is_in_place &&
           old->slot_capacity == new->slot_capacity &&
           old->granule == new->granule;
}

static bool
collective_needs_scratch(const struct engine_collective *collective)
{
    const struct algorithm *algorithm = collective->algorithm;

    return algorithm->n_scratch && algorithm->n_scratch(&collective->shape) > 0;
}

static bool
can_run_shm_inline(const struct comm_context *context,
                   const struct engine_collective *collective)
{
    return !collective_needs_scratch(collective) &&
           (is_cached_plan_reusable(context->cached_op, collective) ||
            collective->algorithm->n_rounds(&collective->shape) > 0);
}

/* The result of a reduction of bools takes a last step, an agreement is no
 * call of the program, and faults concern operations. */
static bool
can_send_blocks_inline(const struct comm_context *context,
                       const struct engine_collective *collective)
{
    return collective->call.count <= INLINE_BLOCK_ELEMENTS_MAX &&
           collective->call.n_counts == 0 && collective->loss == LOSS_NONE &&
           collective->call.dtype != HOOP_BOOL &&
           collective->call.name != CALL_AGREE && context->size > 1 &&
           !context->shm_region && !context->engine->faults;
}

/* A cheap test whether the call can be executed inline at all. */
static bool
can_run_inline(const struct comm_context *context,
               const struct engine_collective *collective)
{
    const struct engine *engine = context->engine;

    return context->cached_op && !collective->members &&
           !collective->chain.owner && !collective->chain.next &&
           !collective->shape.counts &&
           engine->config->checking == ENGINE_CHECK_FRAMES &&
           !engine->is_forked_child &&
           (collective->algorithm->is_shm
                ? can_run_shm_inline(context, collective)
                : can_send_blocks_inline(context, collective));
}

static bool
is_cached_op_of_same_call(const struct op *op, const struct call *call)
{
    const struct frame_call *old = &op->run.label.call;

    return old->name == (uint32_t)call->name &&
           old->dtype == (uint32_t)call->dtype &&
           old->reduce_op == (uint32_t)call->reduce_op &&
           old->root == call->root && old->count == call->count;
}

/* Set what differs when the same call is repeated. */
static void
inline_update_buffers(struct op *op, const struct engine_collective *collective)
{
    op->run.input = collective->input;
    op->run.output = collective->output;
}

/* Returns whether the cached operation has a plan for the call, or is to make
 * one, because the call is made twice in a row. The caller holds the lock. */
static bool
may_have_inline_plan(struct comm_context *context,
                     const struct engine_collective *collective)
{
    struct op *op = context->cached_op;
    struct inline_plan *plan = &op->cache.inline_plan;

    if (!is_cached_plan_reusable(op, collective) ||
        !is_cached_op_of_same_call(op, &collective->call)) {
        plan->is_made = false;
        if (op_set_collective(op, collective) != HOOP_OK)
            op->run.algorithm = NULL;
        return false;
    }
    inline_update_buffers(op, collective);
    return !plan->is_made || plan->n_steps > 0;
}

/* Returns whether a frame may have come for the next call, which is made through
 * memory: then another rank makes another call, and an operation tells that. The
 * caller holds the lock. */
static bool
may_have_surplus_frame(const struct comm_context *context)
{
    return transport_has_unexpected(
        context->engine->transport,
        atomic_load_explicit(&context->next_op_number, memory_order_relaxed));
}

/* Returns whether the call need not be an operation, which would look for what
 * others have sent for other calls. The caller holds the lock. */
static bool
can_begin_inline(struct comm_context *context,
                 const struct engine_collective *collective)
{
    const struct frame_call called = call_to_frame_call(&collective->call);

    if (!context_allows_inline(context,
                               &context->failure.n_pending_collectives) ||
        context->n_final_states > 0)
        return false;
    return !must_poll_for_others(context, collective->algorithm, &called) &&
           (collective->algorithm->is_shm
                ? !may_have_surplus_frame(context)
                : may_have_inline_plan(context, collective));
}

/* Returns true with the lock held if nothing needs progress ownership, and
 * gives the call its number. Numbers are given in the order of the lock.
 * Returns false without the lock. */
static bool
inline_try_begin(struct comm_context *context,
                 const struct engine_collective *collective)
{
    struct engine *engine = context->engine;

    pthread_mutex_lock(&engine->lock);
    const bool is_free = can_begin_inline(context, collective);
    if (is_free)
        context->cached_op->run.number = context_take_op_number(context);
    else
        pthread_mutex_unlock(&engine->lock);
    return is_free;
}

/* Exchange the lock for progress ownership. */
static void
inline_take_progress(struct engine *engine)
{
    engine->is_progress_owned = true;
    pthread_mutex_unlock(&engine->lock);
}

/* Prepare the cached operation for this call, reusing all that is the same.
 * Returns false if there is no memory. */
static bool
inline_prepare(struct comm_context *context,
               const struct engine_collective *collective)
{
    struct op *op = context->cached_op;
    const bool is_same = is_cached_plan_reusable(op, collective);
    const bool is_again = is_same && context->is_cached_op_without_counts &&
                          collective->call.n_counts == 0 &&
                          is_cached_op_of_same_call(op, &collective->call);
    enum hoop_status status = HOOP_OK;

    context->is_cached_op_without_counts = collective->call.n_counts == 0;
    op->run.rounds.wait = SHM_ROUND_AWAITS_POSTS;
    op->run.rounds.is_posted = false;
    if (is_again)
        inline_update_buffers(op, collective);
    else
        status = op_set_collective(op, collective);
    if (status == HOOP_OK && is_same && op->run.rounds.n_rounds == 1)
        shm_executor_restart(op);
    else if (status == HOOP_OK)
        status = shm_executor_begin(op);
    /* The plan is incomplete: the next call must not reuse it. This one
     * continues as an operation and may succeed. */
    if (status != HOOP_OK) {
        op->run.algorithm = NULL;
        error_clear();
    }
    return status == HOOP_OK;
}

static bool
inline_must_continue_as_op(const struct comm_context *context)
{
    return context->cached_op->run.rounds.wait != SHM_ROUND_AWAITS_POSTS ||
           context->failure.has_deferred ||
           atomic_load_explicit(&context->engine->inbox.has_commands,
                                memory_order_relaxed);
}

/* Returns how often to poll. A poll takes as long as a cache line
 * needs from one processor to another. */
static unsigned
inline_polls_before_command_check(const struct engine *engine)
{
    return engine_wait_policy(engine) == WAIT_POLICY_SPIN
               ? INLINE_POLLS_PER_COMMAND_CHECK
               : INLINE_POLLS_OVERSUBSCRIBED;
}

static bool
is_round_short(const struct op *op)
{
    return op->run.rounds.n_touched_elements * op->run.element_size <=
           INLINE_LOCKED_BYTES_MAX;
}

/* Try the only round of a short call under the lock. The call is recorded when
 * its data are on their way to the other ranks, which takes them longer than the
 * record. Returns false if it is not done yet. */
static bool
inline_try_round(struct comm_context *context,
                 const struct engine_collective *collective,
                 uint64_t called)
{
    struct op *op = context->cached_op;
    bool is_done = false;

    if (op->run.rounds.n_rounds > 1 || !is_round_short(op)) {
        op_record_inline(op, collective, called);
        return false;
    }
    context->is_inline_under_lock = true;
    for (unsigned i = inline_polls_before_command_check(context->engine);
         i > 0 && !is_done && op->run.rounds.wait == SHM_ROUND_AWAITS_POSTS;
         i--) {
        const enum hoop_status status = shm_executor_try_round(op, &is_done);

        op_record_inline(op, collective, called);
        called = 0;
        if (status != HOOP_OK)
            break;
    }
    context->is_inline_under_lock = false;
    return is_done;
}

/* Wait while peers have not posted or sent. Returns false if they take too
 * long. */
static bool
inline_backoff(struct comm_context *context)
{
    struct engine *engine = context->engine;
    struct op *op = context->cached_op;

    if (op->run.wait.started_ns == 0)
        op->run.wait.started_ns = clock_now_ns();
    switch (backoff_next_action(&op->run.wait.backoff,
                                engine_wait_policy(engine),
                                shm_executor_work_ns(op))) {
    case WAIT_ACTION_POLL:
        cpu_placement_apply(&engine->cpu_placement);
        return true;
    case WAIT_ACTION_YIELD:
        progress_yield(engine);
        return true;
    case WAIT_ACTION_SLEEP:
        break;
    }
    return false;
}

/* Count the time that was polled in vain. If an ordinary operation continues,
 * it counts that, too. */
static void
inline_count_idle_polls(struct comm_context *context)
{
    struct backoff *backoff = &context->cached_op->run.wait.backoff;

    if (backoff->idle_since_ns)
        engine_count_idle_polls(context->engine, backoff);
}

/* Execute one round. Returns false if the caller must continue with an ordinary
 * operation. */
static bool
inline_await_round(struct comm_context *context)
{
    const unsigned n_polls_per_check =
        inline_polls_before_command_check(context->engine);
    bool is_done = false;

    backoff_reset(&context->cached_op->run.wait.backoff);
    for (unsigned i = 1; !is_done; i++) {
        if (shm_executor_try_round(context->cached_op, &is_done) != HOOP_OK)
            return false;
        if (is_done ||
            context->cached_op->run.rounds.wait != SHM_ROUND_AWAITS_POSTS ||
            context->failure.has_deferred)
            break;
        if (i % n_polls_per_check > 0)
            continue;
        if (inline_must_continue_as_op(context))
            break;
        shm_executor_wake_peers(context->cached_op);
        if (!inline_backoff(context))
            break;
    }
    if (is_done)
        inline_count_idle_polls(context);
    return is_done;
}

/* Execute all rounds, unless another thread wants progress ownership between
 * two of them. A call of so many rounds that sockets must be polled meanwhile
 * is not executed inline. */
static bool
inline_run_rounds(struct comm_context *context)
{
    const struct shm_execution *rounds = &context->cached_op->run.rounds;
    bool is_well = inline_await_round(context);

    while (is_well && rounds->round < rounds->n_rounds)
        is_well = rounds->round < INLINE_ROUNDS_PER_SOCKET_POLL &&
                  !inline_must_continue_as_op(context) &&
                  inline_await_round(context);
    return is_well;
}

/* Send and receive all blocks. Returns false if the caller must continue with
 * an ordinary operation. */
static bool
inline_run_blocks(struct comm_context *context)
{
    struct op *op = context->cached_op;
    enum transport_inline_result result;

    op->run.n_inline_steps = 0;
    if (!op->cache.inline_plan.is_made)
        executor_plan_inline(op);
    if (op->cache.inline_plan.n_steps == 0)
        return false;
    do {
        result = executor_advance_inline(op);
    } while (result == TRANSPORT_INLINE_NOT_ARRIVED &&
             !inline_must_continue_as_op(context) && inline_backoff(context));
    if (result == TRANSPORT_INLINE_DONE)
        inline_count_idle_polls(context);
    return result == TRANSPORT_INLINE_DONE;
}

/* Record the end of the call like that of an ordinary operation. Inlined into
 * both callers, because every call runs it. */
__attribute__((always_inline)) static inline void
inline_record_end(struct comm_context *context)
{
    struct engine *engine = context->engine;
    const struct op *op = context->cached_op;

    if (FAULT_IS_BUILT && op->run.label.faults)
        op_inject_fault(op, FAULT_AT_END, 0);
    context->next_op_number_to_begin = op->run.number + 1;
    pending_polls_after_collective(op);
    op_history_add_call(&context->op_history, op->run.number,
                        op->run.signatures[0], &op->run.first_call);
    engine_count_ended_op(engine);
    op_record_ended(context->cached_op, RECORDER_PATH_INLINE);
    context->n_rounds_since_socket_poll +=
        op_is_shm(op) ? op->run.rounds.n_rounds : 1;
}

/* There is no memory for an operation, but the call has its number and may have
 * posted: it fails on all members, which would wait for this rank. */
static enum hoop_status
inline_fail(struct comm_context *context)
{
    static const char why[] = "no memory for an operation";

    if (context->shm_region)
        shm_executor_abort(context->cached_op);
    op_record_failed(context->cached_op, HOOP_E_EXHAUSTED);
    context_fail_numbered_call(context, context->cached_op->run.number,
                               HOOP_E_EXHAUSTED, why);
    /* What was read ahead is in no socket any more, which would wake
     * somebody. */
    progress_poll(context->engine, 0);
    progress_release(context->engine);
    return error_raise(HOOP_E_EXHAUSTED, "%s", why);
}

/* Continue as an ordinary operation, with the number that the call has. */
static enum hoop_status
inline_continue_as_op(struct comm_context *context,
                      const struct engine_collective *collective)
{
    struct op *cached_op = context->cached_op;
    struct op *op = op_alloc(context, collective->algorithm);

    shm_executor_wake_peers(cached_op);
    if (!op)
        return inline_fail(context);
    op->run.label.faults = cached_op->run.label.faults;
    if (op_set_collective(op, collective) != HOOP_OK) {
        op_free(op);
        return inline_fail(context);
    }
    op->run.chain = collective->chain;
    if (cached_op->run.wait.started_ns > 0)
        op_begin_wait(op, cached_op->run.wait.started_ns);
    op->run.wait.backoff = cached_op->run.wait.backoff;
    op->run.number = cached_op->run.number;
    op->run.record = STEAL(cached_op->run.record);
    op->run.recorded_path = cached_op->run.recorded_path;
    if (op_is_shm(op)) {
        op->run.rounds.n_rounds_done_inline = cached_op->run.rounds.round;
        op->run.rounds.was_next_round_posted = cached_op->run.rounds.is_posted;
    } else {
        executor_continue_inline(op, cached_op);
    }
    op->run.is_begun_by_waiter = true;
    return engine_wait_no_cancel(op, CLOCK_NEVER);
}

/* Continue with progress ownership, which is given up on return. */
static enum hoop_status
inline_run_as_owner(struct comm_context *context,
                    const struct engine_collective *collective,
                    bool is_ready)
{
    CLEANUP(cancel_release) const int held = cancel_hold();

    context->cached_op->run.wait.started_ns = 0;
    backoff_reset(&context->cached_op->run.wait.backoff);
    const bool is_done = is_ready && (op_is_shm(context->cached_op)
                                          ? inline_run_rounds(context)
                                          : inline_run_blocks(context));

    if (!is_done)
        return inline_continue_as_op(context, collective);
    inline_record_end(context);
    inline_release_progress(context);
    return HOOP_OK;
}

/* Called with the lock held; releases it. */
static enum hoop_status
inline_execute(struct comm_context *context,
               const struct engine_collective *collective)
{
    struct engine *engine = context->engine;

    const uint64_t called = call_record_time(engine);
    if (!collective->algorithm->is_shm) {
        op_record_inline(context->cached_op, collective, called);
        inline_take_progress(engine);
        return inline_run_as_owner(context, collective, true);
    }
    const bool is_ready = inline_prepare(context, collective);

    if (!is_ready)
        op_record_inline(context->cached_op, collective, called);
    else if (inline_try_round(context, collective, called)) {
        inline_record_end(context);
        if (context->n_rounds_since_socket_poll <
            INLINE_ROUNDS_PER_SOCKET_POLL) {
            pthread_mutex_unlock(&engine->lock);
            return HOOP_OK;
        }
        CLEANUP(cancel_release) const int held = cancel_hold();
        inline_take_progress(engine);
        inline_release_progress(context);
        return HOOP_OK;
    }
    inline_take_progress(engine);
    return inline_run_as_owner(context, collective, is_ready);
}

enum hoop_status
engine_run_collective(struct comm_context *context,
                      const struct engine_collective *collective)
{
    const uint32_t faults =
        faults_of_call(context->engine, collective->call.name);
    struct op *op = NULL;

    if (can_run_inline(context, collective) &&
        inline_try_begin(context, collective)) {
        context->cached_op->run.label.faults = faults;
        return inline_execute(context, collective);
    }
    const enum hoop_status status =
        op_start_collective(context, collective, faults, &op);
    return status == HOOP_OK ? engine_wait(op, CLOCK_NEVER)
                             : error_pass(status);
}
