/*
 * engine/progress.c - progress ownership, the loop of a waiter, and publishing
 * results
 *
 * Progress ownership is one boolean under the lock. A thread that waits for an
 * operation takes it if it is free. Otherwise it sleeps on its own condition
 * until the operation has ended or ownership is handed to it. An owner that
 * gives it up names a successor: a waiter, or else the background. An owner
 * that sleeps in epoll remains the owner: a thread that hands in work wakes it.
 */

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "engine/context_command.h"
#include "engine/deadline.h"
#include "engine/operation_end.h"
#include "engine/state.h"

enum {
    /* One turn in so many polls all sockets by epoll; the others poll only
     * those that are waited for. */
    PROGRESS_TURNS_PER_EPOLL = 16,
    /* Longest sleep, which bounds how long a missed event goes unnoticed. */
    PROGRESS_SLEEP_MAX_MS = 100,
};

/* How long the background makes progress before it does its other work. */
static const uint64_t BACKGROUND_PROGRESS_TURN_NS = 1000000;

/*
 * Returns whether op, which has all that it waits for, must poll the other
 * sockets before it ends. They may hold frames which say that another rank
 * called something else, and a rank that only sends to this one is heard in no
 * other way.
 *
 * These operations need no poll: one with a root, which waits for few, leaves
 * it to the next without a root; a shared-memory operation, which reads no
 * sockets, polls only after an operation of another kind; and one that needs
 * all ranks, after others like it, since no rank would have finished those if
 * another had called something else. No poll is made inside a poll, where an
 * operation may end because a rank is lost.
 */
static bool
must_poll_before_end(const struct op *op)
{
    if (op_is_message(op) || call_has_root(&op->run.label.call) ||
        transport_is_in_progress(op->engine->transport))
        return false;
    return op_is_shm(op) ? op->run.context->n_polls_pending_shm > 0
                         : op->engine->may_poll_idle_sockets &&
                               op->run.context->size > 2 &&
                               op->run.context->n_polls_pending > 0;
}

void
op_poll_and_complete(struct op *op)
{
    struct engine *engine = op->engine;

    if (must_poll_before_end(op)) {
        engine->may_poll_idle_sockets = false;
        transport_progress(engine->transport, 0);
    }
    if (op->run.state == OP_RUNNING)
        op_complete(op);
}

bool
progress_advance_ops(struct engine *engine)
{
    struct op *op;
    bool has_moved = false;

    while ((op = TAILQ_FIRST(&engine->dirty))) {
        bool is_complete = op_is_message(op);
        enum hoop_status status = HOOP_OK;

        TAILQ_REMOVE(&engine->dirty, op, run.dirty_link);
        op->run.is_dirty = false;
        has_moved = true;
        if (!op_is_message(op))
            status = op_chain_advance(op, &is_complete);
        if (op_has_failed_partner(op))
            op_fail_as_partner(op);
        else if (status != HOOP_OK)
            op_fail_with_error(op, status);
        else if (is_complete)
            op_poll_and_complete(op);
    }
    return has_moved;
}

/* Publish the operation that the progress owner itself waits for. No other
 * thread waits for it or checks whether it is done, so no lock is needed. */
static void
publish_op_of_progress_owner(struct engine *engine)
{
    struct op *op = engine->own;

    if (!op || op->run.state < OP_ENDED)
        return;
    assert(!atomic_load(&op->run.is_done));
    engine->own = NULL;
    TAILQ_REMOVE(&engine->ended, op, link);
    atomic_store_explicit(&op->run.is_done, true, memory_order_relaxed);
}

/* Write to a descriptor that a program waits on. The reader checks all its
 * operations whatever it reads, so a full pipe loses nothing. A pipe whose
 * reader is gone must not end the process: SIGPIPE is blocked for this thread,
 * and the one that the write raised is consumed unless one was pending
 * before. */
static void
notification_fd_write(int fd)
{
    const uint64_t one = 1;
    sigset_t broken;
    sigset_t pending;
    sigset_t before;

    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &broken, &before);
    if (write(fd, &one, sizeof(one)) < 0 && errno == EPIPE &&
        !sigismember(&pending, SIGPIPE))
        sigtimedwait(&broken, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void
progress_publish_ended(struct engine *engine)
{
    struct op *op;

    if (engine->must_flush) {
        engine->must_flush = false;
        transport_flush(engine->transport);
    }
    publish_op_of_progress_owner(engine);
    if (TAILQ_EMPTY(&engine->ended))
        return;
    pthread_mutex_lock(&engine->lock);
    while ((op = TAILQ_FIRST(&engine->ended))) {
        struct waiter *waiter = op->run.waiter;

        TAILQ_REMOVE(&engine->ended, op, link);
        if (op->run.notified_fd >= 0)
            notification_fd_write(op->run.notified_fd);
        /* From here on op may be freed, but its waiter cannot free it before
         * the lock is released. */
        atomic_store(&op->run.is_done, true);
        if (waiter)
            pthread_cond_signal(&waiter->cond);
    }
    pthread_mutex_unlock(&engine->lock);
}

/* Sleep in epoll. is_sleeping asks threads that hand in work to wake this
 * one. */
static bool
poll_transport(struct engine *engine, int timeout_ms)
{
    if (timeout_ms == 0)
        return transport_progress(engine->transport, 0);
    atomic_store(&engine->is_sleeping, true);
    if (atomic_load(&engine->has_commands) || !shm_queue_prepare_sleep(engine))
        timeout_ms = 0;
    const bool has_moved = transport_progress(engine->transport, timeout_ms);
    atomic_store(&engine->is_sleeping, false);
    return has_moved;
}

bool
progress_poll(struct engine *engine, int timeout_ms)
{
    bool has_moved = engine_execute_commands(engine);

    if (has_moved)
        timeout_ms = 0;
    has_moved |= poll_transport(engine, timeout_ms);
    shm_queue_stop_sleeping(engine);
    has_moved |= progress_advance_ops(engine);

    if (engine->deadline_ns != CLOCK_NEVER) {
        const uint64_t now_ns = clock_now_ns();
        if (now_ns >= engine->deadline_ns)
            engine_check_deadlines(engine, now_ns);
    }
    progress_publish_ended(engine);
    return has_moved;
}

/* One turn like progress_poll(), but of the awaited sockets only. */
static bool
progress_poll_awaited_sockets(struct engine *engine)
{
    bool has_moved = engine_execute_commands(engine);

    has_moved |= transport_spin_once(engine->transport);
    shm_queue_stop_sleeping(engine);
    engine->may_poll_idle_sockets = true;
    has_moved |= progress_advance_ops(engine);
    engine->may_poll_idle_sockets = false;
    progress_publish_ended(engine);
    return has_moved;
}

bool
progress_try_acquire(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    const bool is_free = !engine->is_progress_owned;

    engine->is_progress_owned = true;
    pthread_mutex_unlock(&engine->lock);
    return is_free;
}

/* Hand progress ownership to a waiter if there is one. The caller holds the
 * lock. */
static bool
elect_next_progress_owner(struct engine *engine)
{
    struct waiter *waiter;

    TAILQ_FOREACH(waiter, &engine->waiters, link)
    {
        if (waiter->is_elected ||
            (waiter->op && atomic_load(&waiter->op->run.is_done)))
            continue;
        waiter->is_elected = true;
        pthread_cond_signal(&waiter->cond);
        return true;
    }
    engine->is_progress_owned = false;
    return false;
}

void
progress_release(struct engine *engine)
{
    /* Failure notices and credits of what has just ended must be sent first. */
    const bool is_flushed = transport_flush(engine->transport);
    progress_advance_ops(engine);
    progress_publish_ended(engine);
    if (engine->has_unsent_inline_bytes)
        engine->has_unsent_inline_bytes =
            transport_has_unsent(engine->transport);
    /* Only the progress owner changes these, so they stay valid until the lock
     * is taken. */
    const bool has_running = !TAILQ_EMPTY(&engine->running) || !is_flushed ||
                             engine->has_unsent_inline_bytes;

    pthread_mutex_lock(&engine->lock);
    const bool is_abandoned =
        !elect_next_progress_owner(engine) &&
        (has_running || atomic_load(&engine->has_commands));
    pthread_mutex_unlock(&engine->lock);
    if (is_abandoned)
        engine->options.on_progress_needed(engine->options.owner);
}

void
progress_wake(struct engine *engine)
{
    if (atomic_load(&engine->is_sleeping))
        transport_wake(engine->transport);
}

/* A waiter that owns progress. */
struct progress_wait {
    struct backoff backoff;
    uint64_t deadline_ns; /* the waiter's own */
    unsigned n_polls;
};

static int
owner_sleep_ms(const struct engine *engine, const struct progress_wait *wait)
{
    const uint64_t deadline_ns = wait->deadline_ns < engine->deadline_ns
                                     ? wait->deadline_ns
                                     : engine->deadline_ns;
    const int left_ms = clock_left_ms(deadline_ns);

    return left_ms < 0 || left_ms > PROGRESS_SLEEP_MAX_MS
               ? PROGRESS_SLEEP_MAX_MS
               : left_ms;
}

/* One turn without sleeping. */
static bool
progress_poll_without_sleep(struct engine *engine, struct progress_wait *wait)
{
    const bool is_cheap = wait->n_polls % PROGRESS_TURNS_PER_EPOLL !=
                          PROGRESS_TURNS_PER_EPOLL - 1;

    wait->n_polls++;
    return is_cheap ? progress_poll_awaited_sockets(engine)
                    : progress_poll(engine, 0);
}

void
progress_yield(struct engine *engine)
{
    cpu_placement_restore(&engine->cpu_placement);
    sched_yield();
}

/* One turn of a waiter that owns progress. */
static void
progress_wait_once(struct engine *engine, struct progress_wait *wait)
{
    /* The operation may have ended when it began, in which case nothing
     * moved. */
    if (progress_poll_without_sleep(engine, wait) || !engine->own) {
        backoff_reset(&wait->backoff);
        return;
    }
    switch (backoff_next_action(&wait->backoff, engine_wait_policy(engine),
                                shm_executor_work_ns(engine->own))) {
    case WAIT_ACTION_POLL:
        cpu_placement_apply(&engine->cpu_placement);
        return;
    case WAIT_ACTION_YIELD:
        progress_yield(engine);
        return;
    case WAIT_ACTION_SLEEP:
        break;
    }
    cpu_placement_invalidate(&engine->cpu_placement);
    if (progress_poll(engine, owner_sleep_ms(engine, wait)))
        backoff_reset(&wait->backoff);
}

/* Make progress until op has ended. The caller owns progress, and gives it up
 * on return. */
static void
progress_until_done(struct engine *engine, struct op *op, uint64_t deadline_ns)
{
    struct progress_wait wait = {.deadline_ns = deadline_ns};

    engine->own = op;
    if (op->run.is_begun_by_waiter)
        op_begin_by_waiter(op);
    if (clock_is_past(deadline_ns)) {
        progress_poll(engine, 0);
    } else {
        while (!atomic_load(&op->run.is_done)) {
            progress_wait_once(engine, &wait);
            if (clock_is_past(deadline_ns))
                break;
        }
    }
    engine->own = NULL;
    progress_release(engine);
}

static bool
waiter_sleep(struct engine *engine, struct waiter *waiter, uint64_t deadline_ns)
{
    const struct timespec until = {
        .tv_sec = (time_t)(deadline_ns / CLOCK_NS_PER_S),
        .tv_nsec = (long)(deadline_ns % CLOCK_NS_PER_S),
    };

    if (deadline_ns == CLOCK_NEVER)
        return pthread_cond_wait(&waiter->cond, &engine->lock) == 0;
    return pthread_cond_timedwait(&waiter->cond, &engine->lock, &until) !=
           ETIMEDOUT;
}

static void
waiter_init(struct waiter *waiter, struct op *op)
{
    pthread_condattr_t attributes;

    *waiter = (struct waiter){.op = op};
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&waiter->cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

/*
 * Sleep until op has ended, progress ownership is handed over or free, or the
 * deadline passes. Returns whether the caller owns progress now.
 */
static bool
await_done_or_ownership(struct op *op, uint64_t deadline_ns)
{
    struct engine *engine = op->engine;
    struct waiter waiter;
    bool is_in_time = true;

    pthread_mutex_lock(&engine->lock);
    if (!engine->is_progress_owned || atomic_load(&op->run.is_done)) {
        const bool owns_progress = !atomic_load(&op->run.is_done);

        engine->is_progress_owned |= owns_progress;
        pthread_mutex_unlock(&engine->lock);
        return owns_progress;
    }
    waiter_init(&waiter, op);
    TAILQ_INSERT_TAIL(&engine->waiters, &waiter, link);
    op->run.waiter = &waiter;
    while (is_in_time && !waiter.is_elected && !atomic_load(&op->run.is_done))
        is_in_time = waiter_sleep(engine, &waiter, deadline_ns);
    op->run.waiter = NULL;
    TAILQ_REMOVE(&engine->waiters, &waiter, link);
    pthread_mutex_unlock(&engine->lock);
    pthread_cond_destroy(&waiter.cond);
    return waiter.is_elected;
}

bool
progress_acquire_until(struct engine *engine, uint64_t deadline_ns)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    struct waiter waiter;
    bool is_in_time = true;

    if (progress_try_acquire(engine))
        return true;
    waiter_init(&waiter, NULL);
    pthread_mutex_lock(&engine->lock);
    TAILQ_INSERT_HEAD(&engine->waiters, &waiter, link);
    while (is_in_time && !waiter.is_elected && engine->is_progress_owned)
        is_in_time = waiter_sleep(engine, &waiter, deadline_ns);
    TAILQ_REMOVE(&engine->waiters, &waiter, link);
    const bool owns_progress = waiter.is_elected || !engine->is_progress_owned;
    engine->is_progress_owned |= owns_progress;
    pthread_mutex_unlock(&engine->lock);
    pthread_cond_destroy(&waiter.cond);
    return owns_progress;
}

/* One turn of a thread that has been given progress ownership. Called with the
 * lock held, which is released meanwhile. */
static void
progress_poll_as_elected(struct engine *engine)
{
    pthread_mutex_unlock(&engine->lock);
    progress_poll(engine, 0);
    progress_release(engine);
    pthread_mutex_lock(&engine->lock);
}

void
context_command_submit_and_wait(struct engine *engine,
                                struct context_command *context_command)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    struct waiter *waiter = &context_command->waiter;

    waiter_init(waiter, NULL);
    pthread_mutex_lock(&engine->lock);
    TAILQ_INSERT_TAIL(&engine->context_commands, context_command, link);
    atomic_store(&engine->has_commands, true);
    while (!context_command->is_done) {
        if (!engine->is_progress_owned) {
            engine->is_progress_owned = true;
            progress_poll_as_elected(engine);
            continue;
        }
        progress_wake(engine);
        TAILQ_INSERT_HEAD(&engine->waiters, waiter, link);
        while (!context_command->is_done && !waiter->is_elected &&
               engine->is_progress_owned)
            waiter_sleep(engine, waiter, CLOCK_NEVER);
        TAILQ_REMOVE(&engine->waiters, waiter, link);
        if (waiter->is_elected)
            progress_poll_as_elected(engine);
        waiter->is_elected = false;
    }
    pthread_mutex_unlock(&engine->lock);
    pthread_cond_destroy(&waiter->cond);
}

/* Returns false if the deadline passes before op is done. */
static bool
op_await_until(struct op *op, uint64_t deadline_ns)
{
    while (!atomic_load(&op->run.is_done)) {
        if (op->run.is_begun_by_waiter ||
            await_done_or_ownership(op, deadline_ns))
            progress_until_done(op->engine, op, deadline_ns);
        if (!atomic_load(&op->run.is_done) && clock_is_past(deadline_ns))
            return false;
    }
    return true;
}

/* Like op_await_until(), but a wait without a deadline can be interrupted by the
 * program. */
static bool
op_await_interruptible(struct op *op, uint64_t deadline_ns)
{
    if (deadline_ns != CLOCK_NEVER)
        return op_await_until(op, deadline_ns);
    while (!op_await_until(op, interrupt_due_ns())) {
        if (!interrupt_check_now())
            continue;
        engine_cancel_op(op);
        return op_await_until(op, CLOCK_NEVER);
    }
    return true;
}

static struct op nothing;

struct op *
engine_null_op(void)
{
    return &nothing;
}

/* Inlined into both callers, because every call runs it. */
__attribute__((always_inline)) static inline enum hoop_status
wait_no_cancel(struct op *op, uint64_t deadline_ns)
{
    struct op *partner = op->run.partner;
    enum hoop_status status = engine_check_not_forked(op->engine);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!op_await_interruptible(op, deadline_ns) ||
        (partner && !op_await_interruptible(partner, deadline_ns)))
        return HOOP_E_PENDING;
    status = op_chain_finish(op);
    if (status == HOOP_OK && partner)
        status = op_chain_finish(partner);
    if (partner)
        op_free(partner);
    op_free(op);
    return status;
}

enum hoop_status
engine_wait_no_cancel(struct op *op, uint64_t deadline_ns)
{
    return wait_no_cancel(op, deadline_ns);
}

enum hoop_status
engine_wait(struct op *op, uint64_t deadline_ns)
{
    if (op == &nothing)
        return HOOP_OK;
    CLEANUP(cancel_release) const int held = cancel_hold();

    return wait_no_cancel(op, deadline_ns);
}

enum hoop_status
engine_notify_fd_at_end(struct op *op, int fd)
{
    bool is_done = op == &nothing;

    if (!is_done) {
        struct engine *engine = op->engine;
        const enum hoop_status status = engine_check_not_forked(engine);

        if (status != HOOP_OK)
            return error_pass(status);
        pthread_mutex_lock(&engine->lock);
        op->run.notified_fd = fd;
        is_done = atomic_load(&op->run.is_done);
        if (op->run.partner) {
            op->run.partner->run.notified_fd = fd;
            is_done |= atomic_load(&op->run.partner->run.is_done);
        }
        pthread_mutex_unlock(&engine->lock);
    }
    if (is_done && fd >= 0)
        notification_fd_write(fd);
    return HOOP_OK;
}

/* Takes the lock, because a waiter that was notified may look before is_done is
 * set. */
bool
engine_is_op_done(struct op *op)
{
    if (op == &nothing || engine_check_not_forked(op->engine) != HOOP_OK)
        return true;
    struct engine *engine = op->engine;

    pthread_mutex_lock(&engine->lock);
    const bool is_done =
        atomic_load(&op->run.is_done) &&
        (!op->run.partner || atomic_load(&op->run.partner->run.is_done));
    pthread_mutex_unlock(&engine->lock);
    return is_done;
}

/* Nothing has moved. Returns false if the background is to sleep until
 * something does. */
static bool
backoff_if_idle(struct engine *engine, struct backoff *backoff)
{
    const enum wait_action advice =
        backoff_next_action(backoff, engine_wait_policy(engine), 0);

    /* The background does not use CPU placement, which is for callers. */
    if (advice == WAIT_ACTION_YIELD)
        sched_yield();
    return advice != WAIT_ACTION_SLEEP;
}

static bool
has_waiters(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    const bool has_waiters = !TAILQ_EMPTY(&engine->waiters);
    pthread_mutex_unlock(&engine->lock);
    return has_waiters;
}

/*
 * Make progress for operations that no caller waits for. A program that waits
 * for the end of an operation at a descriptor waits for each of its pieces, so
 * between two of them this polls for as long as a caller would. It stops early
 * for a caller, which takes progress ownership over. Returns whether the last
 * turn moved something, so that there may be more.
 */
static bool
progress_for_background(struct engine *engine)
{
    const uint64_t end_ns = clock_now_ns() + BACKGROUND_PROGRESS_TURN_NS;
    struct progress_wait wait = {.deadline_ns = end_ns};
    bool has_moved = progress_poll(engine, 0);
    bool is_awaited = has_moved;

    while (is_awaited && !has_waiters(engine) && !clock_is_past(end_ns)) {
        has_moved = progress_poll_without_sleep(engine, &wait);
        if (has_moved)
            backoff_reset(&wait.backoff);
        else
            is_awaited = !TAILQ_EMPTY(&engine->running) &&
                         backoff_if_idle(engine, &wait.backoff);
    }
    return has_moved;
}

enum engine_progress_result
engine_progress_background(struct engine *engine)
{
    if (!progress_try_acquire(engine))
        return ENGINE_PROGRESS_ELSEWHERE;
    bool has_moved = progress_for_background(engine);
    has_moved |= !transport_prepare_sleep(engine->transport);
    has_moved |= !shm_queue_prepare_sleep(engine);

    /* Like progress_release(), except that the background itself is the last
     * successor. */
    pthread_mutex_lock(&engine->lock);
    /* A thread that handed in work after the last turn relies on this
     * thread. */
    has_moved |= !elect_next_progress_owner(engine) &&
                 atomic_load(&engine->has_commands);
    pthread_mutex_unlock(&engine->lock);
    return has_moved ? ENGINE_PROGRESS_MORE : ENGINE_PROGRESS_NONE;
}
