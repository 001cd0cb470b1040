/*
 * engine/command_queue.c - what other threads hand to the progress owner
 *
 * The queue holds connections and notices of the control thread, new
 * operations, and context commands, which run when all operations handed in
 * before have begun. A question of the coordinator replaces an unanswered one.
 * Cancelled operations are found by a flag. Only a connection needs memory:
 * what ends a wait must not be lost for lack of it.
 */

#include <stdio.h>
#include <stdlib.h>

#include "engine/context_command.h"
#include "engine/failure/failure_detector.h"
#include "engine/failure/failure_notice.h"
#include "engine/failure/heartbeat.h"
#include "engine/failure/lost_rank.h"
#include "engine/failure/revocation.h"
#include "engine/failure/wait_diagnosis.h"
#include "engine/operation_end.h"
#include "engine/state.h"
#include "net/socket.h"
#include "net/tls.h"
#include "transport/shm/segment.h"

void
command_discard(const struct command *command)
{
    tls_destroy(command->tls);
    socket_close(command->fd);
    segment_destroy(command->segment);
}

/* Something was handed in. Called with the lock held; releases it. */
static void
command_queue_wake(struct engine *engine)
{
    atomic_store(&engine->has_commands, true);
    const bool is_progress_owned = engine->is_progress_owned;
    pthread_mutex_unlock(&engine->lock);
    if (is_progress_owned)
        progress_wake(engine);
    else
        engine->options.on_progress_needed(engine->options.owner);
}

void
engine_enqueue_connection(struct engine *engine, const struct command *content)
{
    struct command *command = malloc(sizeof(*command));

    if (!command) {
        command_discard(content);
        /* The peer sees that the connection is closed. Of a further stream that
         * is enough; without the first connection nobody here would ask
         * again. */
        if (content->stream == 0)
            engine_report_unreachable(engine, content->rank,
                                      "no memory for its connection");
        return;
    }
    *command = *content;
    pthread_mutex_lock(&engine->lock);
    TAILQ_INSERT_TAIL(&engine->commands, command, link);
    command_queue_wake(engine);
}

void
engine_post_notice(struct engine *engine, const struct notice *content)
{
    struct notice *notice = &engine->notices[content->rank];

    pthread_mutex_lock(&engine->lock);
    if (notice->kinds == 0)
        TAILQ_INSERT_TAIL(&engine->noticed, notice, link);
    if (content->kinds > notice->kinds)
        reason_write_truncated(content->why, "", notice->why);
    if (content->kinds == NOTICE_DECLARED_DEAD &&
        !(notice->kinds & content->kinds))
        notice->evidence = content->evidence;
    if (content->kinds == NOTICE_SHORTAGE) {
        notice->of = content->of;
        notice->status = content->status;
    }
    notice->rank = content->rank;
    notice->kinds |= content->kinds;
    command_queue_wake(engine);
}

void
engine_request_stale_frame_drop(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->must_drop_stale_frames = true;
    command_queue_wake(engine);
}

void
engine_request_peer_views(struct engine *engine, uint64_t question)
{
    pthread_mutex_lock(&engine->lock);
    engine->asked = question;
    atomic_store(&engine->is_asked, true);
    command_queue_wake(engine);
}

void
engine_query_activity(struct engine *engine, uint64_t query)
{
    pthread_mutex_lock(&engine->lock);
    engine->activity_query = query;
    command_queue_wake(engine);
}

bool
engine_has_views_request(const struct engine *engine)
{
    return atomic_load(&engine->is_asked);
}

/* The progress owner ends the operation; until then its buffers stay
 * borrowed. */
void
engine_cancel_op(struct op *op)
{
    struct engine *engine = op->engine;

    /* The operation of engine_null_op() has no engine. */
    if (!engine)
        return;
    pthread_mutex_lock(&engine->lock);
    atomic_store(&op->run.is_cancelled, true);
    engine->has_cancelled = true;
    atomic_store(&engine->has_commands, true);
    const bool is_progress_owned = engine->is_progress_owned;
    pthread_mutex_unlock(&engine->lock);
    if (is_progress_owned)
        progress_wake(engine);
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

/* End all operations that have been cancelled. */
static void
engine_end_cancelled_ops(struct engine *engine)
{
    struct op *next;

    for (struct op *op = TAILQ_FIRST(&engine->running); op; op = next) {
        next = TAILQ_NEXT(op, link);
        op_fail_if_cancelled(op);
    }
}

/* What the progress owner takes from the queue in one go; at most one of
 * each. */
struct command_batch {
    uint64_t question;       /* the coordinator's last question; 0: none */
    uint64_t activity_query; /* the coordinator's last query; 0: none */
    struct command *command;
    struct notice *notice; /* in no list, but not yet read */
    struct op *op;
    struct context_command *context_command;
    bool has_cancelled;
    bool must_drop_stale_frames;
};

/* Take the next command. The order of the branches matters: context commands
 * come after all operations. */
static struct command_batch
command_queue_take(struct engine *engine)
{
    struct command_batch batch = {0};

    pthread_mutex_lock(&engine->lock);
    batch.has_cancelled = engine->has_cancelled;
    engine->has_cancelled = false;
    /* Connections come first: a rank that has connected meanwhile is not
     * unreachable, and can be asked for a sign of life. */
    if ((batch.command = TAILQ_FIRST(&engine->commands)))
        TAILQ_REMOVE(&engine->commands, batch.command, link);
    else if ((batch.notice = TAILQ_FIRST(&engine->noticed)))
        TAILQ_REMOVE(&engine->noticed, batch.notice, link);
    else if ((batch.question = engine->asked) != 0)
        engine->asked = 0;
    else if ((batch.activity_query = engine->activity_query) != 0)
        engine->activity_query = 0;
    else if ((batch.op = TAILQ_FIRST(&engine->submit_queue)))
        TAILQ_REMOVE(&engine->submit_queue, batch.op, link);
    else if ((batch.context_command = TAILQ_FIRST(&engine->context_commands)))
        TAILQ_REMOVE(&engine->context_commands, batch.context_command, link);
    else if ((batch.must_drop_stale_frames = engine->must_drop_stale_frames))
        engine->must_drop_stale_frames = false;
    else
        atomic_store(&engine->has_commands, false);
    pthread_mutex_unlock(&engine->lock);
    return batch;
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
    case CONTEXT_CONTROL_END:
        context_end_and_destroy(context);
        return;
    case CONTEXT_CONTROL_REVOKE:
        revocation_execute(context, context_command->why);
        return;
    case CONTEXT_CONTROL_REVOKE_IF_FAILED:
        context_command->unfinished = revocation_execute_if_failed(context);
        return;
    case CONTEXT_CONTROL_WATCH:
        member_watch_set(context, context_command->watch);
        return;
    case CONTEXT_CONTROL_QUERY_FAILED:
        context_list_failed_members(context, context_command->failed);
        return;
    case CONTEXT_CONTROL_QUERY_LOST:
        context_list_lost_members(context, context_command->failed);
        return;
    case CONTEXT_CONTROL_FAIL_NEXT_CALL:
        context_fail_next_execute(context, context_command->status,
                                  context_command->why);
        return;
    case CONTEXT_CONTROL_GIVE_UP:
        context_command->was_new =
            engine_give_up_execute(engine, context_command->why);
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

    while (atomic_load(&engine->has_commands)) {
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
