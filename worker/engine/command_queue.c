/*
 * engine/command_queue.c - what other threads hand to the progress owner
 *
 * The queue holds connections and notices of the control thread, new
 * operations, and context commands, which run when all operations handed in
 * before have begun. A question of the coordinator replaces an unanswered one.
 * Cancelled operations are found by a flag. Only a connection needs memory, and
 * a rank that has none gives up: what ends a wait must not be lost for lack of
 * it. A forked child can hand in nothing.
 */

#include "engine/command_queue.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "engine/context_command.h"
#include "engine/failure/lost_rank.h"
#include "engine/state.h"
#include "net/socket.h"
#include "net/tls.h"
#include "recorder/recorder_signal.h"
#include "transport/shm/segment.h"

enum hoop_status
engine_check_not_forked(const struct engine *engine)
{
    if (engine->is_forked_child)
        return error_raise(HOOP_E_CLOSED,
                           "the session belongs to the process that forked "
                           "this one (%d): join here, or do not call hoop",
                           (int)getppid());
    return HOOP_OK;
}

void
engine_mark_forked_child(struct engine *engine)
{
    engine->is_forked_child = true;
    recorder_signal_forget();
}

void
engine_wake_progress_owner(struct engine *engine)
{
    if (atomic_load(&engine->progress.is_sleeping))
        transport_wake(engine->transport);
}

/* Something was handed in. Called with the lock held; releases it. */
static void
command_queue_wake(struct engine *engine)
{
    atomic_store(&engine->inbox.has_commands, true);
    const bool is_progress_owned = engine->is_progress_owned;
    pthread_mutex_unlock(&engine->lock);
    if (is_progress_owned)
        engine_wake_progress_owner(engine);
    else
        engine->options.on_progress_needed(engine->options.owner);
}

void
engine_post_notice(struct engine *engine, const struct notice *content)
{
    struct notice *notice = &engine->inbox.notices[content->rank];

    pthread_mutex_lock(&engine->lock);
    if (notice->kinds == 0)
        TAILQ_INSERT_TAIL(&engine->inbox.noticed, notice, link);
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
engine_report_unreachable(struct engine *engine, uint32_t rank, const char *why)
{
    struct notice notice = {.kinds = NOTICE_UNREACHABLE, .rank = rank};

    reason_write_truncated(why, "", notice.why);
    engine_post_notice(engine, &notice);
}

void
command_discard(const struct command *command)
{
    tls_destroy(command->tls);
    socket_close(command->fd);
    segment_destroy(command->segment);
}

/* Hand a connection to the progress owner; ownership passes. If there is no
 * memory for that, it is closed, and this rank gives up. */
static void
engine_enqueue_connection(struct engine *engine, const struct command *content)
{
    struct command *command = malloc(sizeof(*command));

    if (!command) {
        command_discard(content);
        /* The peer sees that the connection is closed. Of a further stream that
         * is enough; without the first connection nobody here would ask
         * again. */
        if (content->stream == 0)
            engine_post_notice(
                engine, &(struct notice){.kinds = NOTICE_NO_MEMORY,
                                         .rank = content->rank,
                                         .why = "no memory for a connection"});
        return;
    }
    *command = *content;
    pthread_mutex_lock(&engine->lock);
    TAILQ_INSERT_TAIL(&engine->inbox.commands, command, link);
    command_queue_wake(engine);
}

void
engine_add_connection(struct engine *engine, uint32_t rank, int fd)
{
    engine_add_shm_connection(engine, rank, fd, NULL);
}

void
engine_add_shm_connection(struct engine *engine,
                          uint32_t rank,
                          int fd,
                          struct segment *segment)
{
    engine_enqueue_connection(
        engine, &(struct command){.kind = COMMAND_ADD_TCP_CONNECTION,
                                  .rank = rank,
                                  .fd = fd,
                                  .segment = segment});
}

void
engine_attach_stream(struct engine *engine,
                     uint32_t rank,
                     unsigned stream,
                     int fd)
{
    engine_enqueue_connection(engine,
                              &(struct command){.kind = COMMAND_ATTACH_STREAM,
                                                .rank = rank,
                                                .stream = stream,
                                                .fd = fd});
}

void
engine_add_tls_connection(struct engine *engine,
                          uint32_t rank,
                          unsigned stream,
                          int fd,
                          struct tls *tls)
{
    engine_enqueue_connection(
        engine, &(struct command){.kind = COMMAND_ADD_TLS_CONNECTION,
                                  .rank = rank,
                                  .stream = stream,
                                  .fd = fd,
                                  .tls = tls});
}

void
engine_declare_dead(struct engine *engine, uint32_t rank, const char *why)
{
    struct notice notice = {.kinds = NOTICE_DECLARED_DEAD, .rank = rank};

    reason_write_truncated(why, "", notice.why);
    engine_post_notice(engine, &notice);
}

void
engine_report_given_up(struct engine *engine, uint32_t rank, const char *why)
{
    struct notice notice = {.kinds = NOTICE_DECLARED_DEAD,
                            .rank = rank,
                            .evidence = EVIDENCE_GIVEN_UP};

    reason_write_truncated(why, "", notice.why);
    engine_post_notice(engine, &notice);
}

void
engine_report_undecided(struct engine *engine, uint32_t rank)
{
    engine_post_notice(
        engine, &(struct notice){.kinds = NOTICE_UNDECIDED, .rank = rank});
}

void
engine_request_stale_frame_drop(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->inbox.must_drop_stale_frames = true;
    command_queue_wake(engine);
}

void
engine_request_peer_views(struct engine *engine, uint64_t question)
{
    pthread_mutex_lock(&engine->lock);
    engine->inbox.views_question = question;
    atomic_store(&engine->inbox.has_views_question, true);
    command_queue_wake(engine);
}

void
engine_query_activity(struct engine *engine, uint64_t query)
{
    pthread_mutex_lock(&engine->lock);
    engine->inbox.activity_query = query;
    command_queue_wake(engine);
}

bool
engine_has_views_request(const struct engine *engine)
{
    return atomic_load(&engine->inbox.has_views_question);
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
    engine->inbox.has_cancelled = true;
    atomic_store(&engine->inbox.has_commands, true);
    const bool is_progress_owned = engine->is_progress_owned;
    pthread_mutex_unlock(&engine->lock);
    if (is_progress_owned)
        engine_wake_progress_owner(engine);
}

/* Take the next command. The order of the branches matters: context commands
 * come after all operations. */
struct command_batch
command_queue_take(struct engine *engine)
{
    struct command_batch batch = {0};

    pthread_mutex_lock(&engine->lock);
    batch.has_cancelled = engine->inbox.has_cancelled;
    engine->inbox.has_cancelled = false;
    /* Connections come first: a rank that has connected meanwhile is not
     * unreachable, and can be asked for a sign of life. */
    if ((batch.command = TAILQ_FIRST(&engine->inbox.commands)))
        TAILQ_REMOVE(&engine->inbox.commands, batch.command, link);
    else if ((batch.notice = TAILQ_FIRST(&engine->inbox.noticed)))
        TAILQ_REMOVE(&engine->inbox.noticed, batch.notice, link);
    else if ((batch.question = engine->inbox.views_question) != 0)
        engine->inbox.views_question = 0;
    else if ((batch.activity_query = engine->inbox.activity_query) != 0)
        engine->inbox.activity_query = 0;
    else if ((batch.op = TAILQ_FIRST(&engine->inbox.submit_queue)))
        TAILQ_REMOVE(&engine->inbox.submit_queue, batch.op, link);
    else if ((batch.context_command =
                  TAILQ_FIRST(&engine->inbox.context_commands)))
        TAILQ_REMOVE(&engine->inbox.context_commands, batch.context_command,
                     link);
    else if ((batch.must_drop_stale_frames =
                  engine->inbox.must_drop_stale_frames))
        engine->inbox.must_drop_stale_frames = false;
    else
        atomic_store(&engine->inbox.has_commands, false);
    pthread_mutex_unlock(&engine->lock);
    return batch;
}
