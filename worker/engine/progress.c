/*
 * engine/progress.c - progress ownership, and one turn of progress
 *
 * Progress ownership is one boolean under the lock. An owner that gives it up
 * names a successor: a waiter, or else the background. An owner that sleeps in
 * epoll remains the owner: a thread that hands in work wakes it.
 *
 * A turn executes what other threads have handed in, moves data, advances
 * operations, and publishes those that have ended.
 */

#include "engine/progress.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "engine/command_queue.h"
#include "engine/context.h"
#include "engine/context_command.h"
#include "engine/deadline.h"
#include "engine/failure/activity.h"
#include "engine/failure/failure_detector.h"
#include "engine/failure/failure_notice.h"
#include "engine/failure/heartbeat.h"
#include "engine/failure/revocation.h"
#include "engine/failure/state_query.h"
#include "engine/failure/wait_diagnosis.h"
#include "engine/op_run.h"
#include "engine/operation_end.h"
#include "engine/shm_queue.h"
#include "engine/shortage.h"
#include "engine/state.h"

bool
progress_advance_ops(struct engine *engine)
{
    struct op *op;
    bool has_moved = false;

    while ((op = TAILQ_FIRST(&engine->progress.dirty))) {
        bool is_complete = op_is_message(op);
        enum hoop_status status = HOOP_OK;

        TAILQ_REMOVE(&engine->progress.dirty, op, run.dirty_link);
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
    struct op *op = engine->progress.own;

    if (!op || op->run.state < OP_ENDED)
        return;
    assert(!atomic_load(&op->run.is_done));
    engine->progress.own = NULL;
    TAILQ_REMOVE(&engine->progress.ended, op, link);
    atomic_store_explicit(&op->run.is_done, true, memory_order_relaxed);
}

/* Write to a descriptor that a program waits on. The reader checks all its
 * operations whatever it reads, so a full pipe loses nothing. A pipe whose
 * reader is gone must not end the process: SIGPIPE is blocked for this thread,
 * and the one that the write raised is consumed unless one was pending
 * before. */
void
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

    if (engine->progress.must_flush) {
        engine->progress.must_flush = false;
        transport_flush(engine->transport);
    }
    publish_op_of_progress_owner(engine);
    if (TAILQ_EMPTY(&engine->progress.ended))
        return;
    pthread_mutex_lock(&engine->lock);
    while ((op = TAILQ_FIRST(&engine->progress.ended))) {
        struct waiter *waiter = op->run.waiter;

        TAILQ_REMOVE(&engine->progress.ended, op, link);
        /* Under the lock, because the caller may close the descriptor when
         * engine_notify_fd_at_end() has taken it back, which takes the lock. It
         * does not block, so that the write is short. */
        if (op->run.notified_fd >= 0)
            notification_fd_write(op->run.notified_fd);
        /* From here on op may be freed: a thread that sees is_done without the
         * lock does so at once. waiter stays until the lock is released. */
        atomic_store(&op->run.is_done, true);
        if (waiter)
            pthread_cond_signal(&waiter->cond);
    }
    pthread_mutex_unlock(&engine->lock);
}

/* The session is being left: end all running operations. */
static void
engine_end_ops_to_leave(struct engine *engine)
{
    const struct failure_notice failure_notice = failure_notice_make(
        HOOP_E_CLOSED, HOOP_NO_RANK, "the session is being left");
    struct op *op;

    engine->is_leaving = true;
    engine->liveness.views.question = 0;
    atomic_store(&engine->inbox.has_views_question, false);
    /* What has arrived may be all that they were waiting for. */
    transport_progress(engine->transport, 0);
    progress_advance_ops(engine);
    while ((op = TAILQ_FIRST(&engine->progress.running)))
        op_fail(op, &failure_notice);
}

/* End the context's operations here and on the other members, which would wait
 * for this rank's part in a collective. */
static void
context_fail_running_ops(struct comm_context *context)
{
    struct engine *engine = context->engine;
    char name[ROSTER_NAME_MAX];
    const struct failure_notice here = failure_notice_make(
        HOOP_E_CLOSED, HOOP_NO_RANK, "the communicator has been freed");
    const struct failure_notice there = failure_notice_make(
        HOOP_E_PEER_LOST, engine->roster->rank, "%s has freed the communicator",
        roster_format_name(engine->roster, engine->roster->rank, name));
    struct op *next;

    for (struct op *op = TAILQ_FIRST(&engine->progress.running); op;
         op = next) {
        next = TAILQ_NEXT(op, link);
        if (op->run.context != context)
            continue;
        op_fail(op, &here);
        if (!op_is_message(op))
            failure_notice_send_all(engine, context, op->run.number, &there);
    }
}

/* End what runs on context and destroy it. */
static void
context_end_and_destroy(struct comm_context *context)
{
    struct engine *engine = context->engine;

    member_watch_set(context, CONTEXT_NOT_WATCHED);
    context_fail_running_ops(context);
    state_query_answer_before_free(context);
    context_destroy(context);
    engine_drop_stale_frames(engine);
}

/* End all operations that have been cancelled. */
static void
engine_end_cancelled_ops(struct engine *engine)
{
    struct op *next;

    for (struct op *op = TAILQ_FIRST(&engine->progress.running); op;
         op = next) {
        next = TAILQ_NEXT(op, link);
        op_fail_if_cancelled(op);
    }
}

static void
command_execute(struct engine *engine, const struct command *command)
{
    switch (command->kind) {
    case COMMAND_ADD_TCP_CONNECTION:
        transport_add_shm_connection(engine->transport, command->rank,
                                     command->fd, command->segment);
        return;
    case COMMAND_ATTACH_STREAM:
        transport_attach_stream(engine->transport, command->rank,
                                command->stream, command->fd);
        return;
    case COMMAND_ADD_TLS_CONNECTION:
        transport_add_tls_connection(engine->transport, command->rank,
                                     command->stream, command->fd,
                                     command->tls);
        return;
    }
}

/* Act on the gravest kind first: the others then find that done. */
static void
notice_apply(struct engine *engine, struct notice *unread)
{
    pthread_mutex_lock(&engine->lock);
    const struct notice notice = *unread;
    unread->kinds = 0;
    pthread_mutex_unlock(&engine->lock);

    if (notice.kinds & NOTICE_DECLARED_DEAD)
        engine_mark_lost(engine, notice.rank, notice.evidence, notice.why);
    if (notice.kinds & NOTICE_NO_MEMORY)
        engine_fail_without_memory(engine, notice.rank, notice.why);
    if (notice.kinds & NOTICE_UNREACHABLE)
        transport_mark_unreachable(engine->transport, notice.rank, notice.why);
    if (notice.kinds & NOTICE_SHORTAGE)
        shortage_apply(engine, &notice);
    if (notice.kinds & NOTICE_UNDECIDED)
        failure_detector_decide_now(engine, notice.rank);
}

static void
context_command_run(struct engine *engine,
                    struct context_command *context_command)
{
    struct comm_context *context = context_command->context;

    switch (context_command->kind) {
    case CONTEXT_COMMAND_END:
        context_end_and_destroy(context);
        return;
    case CONTEXT_COMMAND_REVOKE:
        revocation_execute(context, context_command->why);
        return;
    case CONTEXT_COMMAND_REVOKE_IF_FAILED:
        context_command->unfinished = revocation_execute_if_failed(context);
        return;
    case CONTEXT_COMMAND_WATCH:
        member_watch_set(context, context_command->watch);
        return;
    case CONTEXT_COMMAND_QUERY_FAILED:
        context_list_failed_members(context, context_command->failed);
        return;
    case CONTEXT_COMMAND_QUERY_LOST:
        context_list_lost_members(context, context_command->failed);
        return;
    case CONTEXT_COMMAND_FAIL_NEXT_CALL:
        context_fail_next_execute(context, context_command->status,
                                  context_command->why);
        return;
    case CONTEXT_COMMAND_GIVE_UP:
        context_command->was_new =
            engine_give_up_execute(engine, context_command->why);
        return;
    case CONTEXT_COMMAND_LEAVE:
        engine_end_ops_to_leave(engine);
        return;
    }
}

static void
context_command_run_and_signal(struct engine *engine,
                               struct context_command *context_command)
{
    context_command_run(engine, context_command);
    /* The operations that the command ended must be published first. */
    progress_publish_ended(engine);
    pthread_mutex_lock(&engine->lock);
    context_command->is_done = true;
    pthread_cond_signal(&context_command->waiter.cond);
    pthread_mutex_unlock(&engine->lock);
}

bool
engine_execute_commands(struct engine *engine)
{
    bool has_moved = false;

    while (atomic_load(&engine->inbox.has_commands)) {
        const struct command_batch batch = command_queue_take(engine);

        if (batch.has_cancelled)
            engine_end_cancelled_ops(engine);
        if (batch.must_drop_stale_frames)
            engine_drop_stale_frames(engine);
        if (batch.question)
            peer_views_request_begin(engine, batch.question);
        if (batch.activity_query)
            activity_report(engine, batch.activity_query);
        if (batch.command)
            command_execute(engine, batch.command);
        if (batch.notice)
            notice_apply(engine, batch.notice);
        if (batch.op)
            op_begin(batch.op);
        if (batch.context_command)
            context_command_run_and_signal(engine, batch.context_command);
        free(batch.command);
        has_moved = true;
    }
    return has_moved;
}

/* Sleep in epoll. is_sleeping asks threads that hand in work to wake this
 * one. */
static bool
poll_transport(struct engine *engine, int timeout_ms)
{
    if (timeout_ms == 0)
        return transport_progress(engine->transport, 0);
    atomic_store(&engine->progress.is_sleeping, true);
    if (atomic_load(&engine->inbox.has_commands) ||
        !shm_queue_prepare_sleep(engine))
        timeout_ms = 0;
    const bool has_moved = transport_progress(engine->transport, timeout_ms);
    atomic_store(&engine->progress.is_sleeping, false);
    return has_moved;
}

bool
progress_poll(struct engine *engine, int timeout_ms)
{
    bool has_moved = engine_execute_commands(engine);

    if (has_moved)
        timeout_ms = 0;
    has_moved |= poll_transport(engine, timeout_ms);
    if (!TAILQ_EMPTY(&engine->contexts.shm_running))
        shm_queue_stop_sleeping(engine);
    has_moved |= progress_advance_ops(engine);

    if (engine->progress.deadline_ns != CLOCK_NEVER) {
        const uint64_t now_ns = clock_now_ns();
        if (now_ns >= engine->progress.deadline_ns)
            engine_check_deadlines(engine, now_ns);
    }
    progress_publish_ended(engine);
    return has_moved;
}

bool
progress_poll_awaited_sockets(struct engine *engine)
{
    bool has_moved = engine_execute_commands(engine);

    has_moved |= transport_spin_once(engine->transport);
    if (!TAILQ_EMPTY(&engine->contexts.shm_running))
        shm_queue_stop_sleeping(engine);
    engine->progress.may_poll_idle_sockets = true;
    has_moved |= progress_advance_ops(engine);
    engine->progress.may_poll_idle_sockets = false;
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

bool
progress_elect_next_owner(struct engine *engine)
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

/* Returns false if nothing has moved, as after a call that needed no operation,
 * so that no operation can end. */
static bool
has_ops_to_end(const struct engine *engine)
{
    return engine->progress.own || engine->progress.must_flush ||
           !TAILQ_EMPTY(&engine->progress.dirty) ||
           !TAILQ_EMPTY(&engine->progress.ended);
}

void
progress_release(struct engine *engine)
{
    /* Failure notices and credits of what has just ended must be sent first. */
    bool is_needed = transport_flush(engine->transport);
    if (has_ops_to_end(engine)) {
        progress_advance_ops(engine);
        progress_publish_ended(engine);
        is_needed = transport_needs_progress(engine->transport);
    }
    /* Only the progress owner changes these, so they stay valid until the lock
     * is taken. */
    is_needed |= !TAILQ_EMPTY(&engine->progress.running);

    pthread_mutex_lock(&engine->lock);
    const bool is_abandoned =
        !progress_elect_next_owner(engine) &&
        (is_needed || atomic_load(&engine->inbox.has_commands));
    pthread_mutex_unlock(&engine->lock);
    if (is_abandoned)
        engine->options.on_progress_needed(engine->options.owner);
}

enum {
    /* One yield in so many is timed, and stands for all. */
    YIELDS_PER_TIMED_YIELD = 16,
};

void
progress_yield(struct engine *engine)
{
    const bool is_timed =
        ++engine->totals.n_yields % YIELDS_PER_TIMED_YIELD == 0;
    const uint64_t began_ns = is_timed ? clock_now_ns() : 0;

    cpu_placement_restore(&engine->cpu_placement);
    sched_yield();
    if (is_timed)
        engine_count_wait(engine, op_wait_kind(engine->progress.own),
                          YIELDS_PER_TIMED_YIELD * (clock_now_ns() - began_ns));
}
