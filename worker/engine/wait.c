/*
 * engine/wait.c - threads that wait for operations and commands
 *
 * A thread that waits for an operation takes progress ownership if it is free.
 * Otherwise it sleeps on its own condition until the operation has ended or
 * ownership is handed to it.
 */

#include "engine/wait.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "engine/command_queue.h"
#include "engine/context_command.h"
#include "engine/op_pool.h"
#include "engine/op_run.h"
#include "engine/progress.h"
#include "engine/shm_executor.h"
#include "engine/shm_queue.h"
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

/* A waiter that owns progress. */
struct progress_wait {
    struct backoff backoff;
    uint64_t deadline_ns; /* the waiter's own */
    unsigned n_polls;
};

static int
owner_sleep_ms(const struct engine *engine, const struct progress_wait *wait)
{
    const uint64_t deadline_ns =
        wait->deadline_ns < engine->progress.deadline_ns
            ? wait->deadline_ns
            : engine->progress.deadline_ns;
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
engine_count_idle_polls(struct engine *engine, struct backoff *backoff)
{
    engine_count_wait(engine, op_wait_kind(engine->progress.own),
                      backoff->idle_until_ns - backoff->idle_since_ns);
    backoff->idle_since_ns = 0;
}

/* Sleep until something happens, and count the time asleep, but not the time
 * in which what has arrived is read and combined. Returns whether anything
 * moved. */
static bool
progress_sleep(struct engine *engine, struct progress_wait *wait)
{
    const enum engine_wait_kind kind = op_wait_kind(engine->progress.own);
    const uint64_t before_ns = transport_slept_ns(engine->transport);

    if (wait->backoff.idle_since_ns)
        engine_count_idle_polls(engine, &wait->backoff);
    cpu_placement_invalidate(&engine->cpu_placement);
    const bool has_moved = progress_poll(engine, owner_sleep_ms(engine, wait));
    engine_count_wait(engine, kind,
                      transport_slept_ns(engine->transport) - before_ns);
    return has_moved;
}

/* Something has moved, or the operation has ended. */
static void
progress_wait_renew(struct engine *engine, struct progress_wait *wait)
{
    if (wait->backoff.idle_since_ns)
        engine_count_idle_polls(engine, &wait->backoff);
    backoff_reset(&wait->backoff);
}

/* One turn of a waiter that owns progress. */
static void
progress_wait_once(struct engine *engine, struct progress_wait *wait)
{
    /* The operation may have ended when it began, in which case nothing
     * moved. */
    if (progress_poll_without_sleep(engine, wait) || !engine->progress.own) {
        progress_wait_renew(engine, wait);
        return;
    }
    switch (backoff_next_action(&wait->backoff, engine_wait_policy(engine),
                                shm_executor_work_ns(engine->progress.own))) {
    case WAIT_ACTION_POLL:
        cpu_placement_apply(&engine->cpu_placement);
        return;
    case WAIT_ACTION_YIELD:
        progress_yield(engine);
        return;
    case WAIT_ACTION_SLEEP:
        break;
    }
    if (progress_sleep(engine, wait))
        backoff_reset(&wait->backoff);
}

/* Begin op and its partner. The caller owns progress. */
static void
op_begin_by_waiter(struct op *op)
{
    assert(op->run.is_begun_by_waiter);
    op->run.is_begun_by_waiter = false;
    op_begin(op);
    if (op->run.partner)
        op_begin(op->run.partner);
}

/* Make progress until op has ended. The caller owns progress, and gives it up
 * on return. */
static void
progress_until_done(struct engine *engine, struct op *op, uint64_t deadline_ns)
{
    struct progress_wait wait = {.deadline_ns = deadline_ns};

    engine->progress.own = op;
    if (op->run.is_begun_by_waiter) {
        wait.backoff = op->run.wait.backoff;
        op_begin_by_waiter(op);
    }
    if (clock_is_past(deadline_ns)) {
        progress_poll(engine, 0);
    } else {
        while (!atomic_load(&op->run.is_done)) {
            progress_wait_once(engine, &wait);
            if (clock_is_past(deadline_ns))
                break;
        }
    }
    engine->progress.own = NULL;
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
    const uint64_t began_ns = clock_now_ns();
    while (is_in_time && !waiter.is_elected && !atomic_load(&op->run.is_done))
        is_in_time = waiter_sleep(engine, &waiter, deadline_ns);
    engine_count_wait(engine, op_wait_kind(op), clock_now_ns() - began_ns);
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
    TAILQ_INSERT_TAIL(&engine->inbox.context_commands, context_command, link);
    atomic_store(&engine->inbox.has_commands, true);
    while (!context_command->is_done) {
        if (!engine->is_progress_owned) {
            engine->is_progress_owned = true;
            progress_poll_as_elected(engine);
            continue;
        }
        engine_wake_progress_owner(engine);
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

/* Like op_await_until(), but a wait without a deadline can be interrupted by
 * the program. */
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

/* Hand out op's results and return how it ended. */
static enum hoop_status
op_chain_finish(struct op *op)
{
    if (op->run.status != HOOP_OK)
        return error_raise_failure(&op->failure.details, "%s",
                                   op->failure.text);
    return op->run.chain.finish ? op->run.chain.finish(op->run.chain.owner)
                                : HOOP_OK;
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
            is_awaited = !TAILQ_EMPTY(&engine->progress.running) &&
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
    has_moved |= !progress_elect_next_owner(engine) &&
                 atomic_load(&engine->inbox.has_commands);
    pthread_mutex_unlock(&engine->lock);
    return has_moved ? ENGINE_PROGRESS_MORE : ENGINE_PROGRESS_NONE;
}
