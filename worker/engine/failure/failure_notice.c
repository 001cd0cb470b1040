/*
 * engine/failure/failure_notice.c - what ranks tell each other of failures
 *
 * One rank finds a failure first: a connection that ends, a call that does not
 * match, a deadline. It ends the affected operations here, names the culprit,
 * and sends a failure notice over every connection. Each rank passes on a
 * notice that is new to it, so that ranks which wait for a third rank end, too.
 */

#include "engine/failure/failure_notice.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hoop/comm.h"

#include "base/error.h"
#include "base/log.h"
#include "dtype/dtype.h"
#include "engine/context.h"
#include "engine/failure/lost_rank.h"
#include "engine/failure/op_history.h"
#include "engine/failure/operations.h"
#include "engine/failure/revocation.h"
#include "engine/state.h"

struct failure_notice
failure_notice_make(enum hoop_status status,
                    uint32_t rank,
                    const char *format,
                    ...)
{
    struct failure_notice failure_notice = {.status = status, .rank = rank};
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(failure_notice.why, sizeof(failure_notice.why), format,
              arguments);
    va_end(arguments);
    return failure_notice;
}

uint32_t
failure_notice_pack_rank(uint32_t rank)
{
    return rank == HOOP_NO_RANK ? 0 : rank + 1;
}

void
failure_notice_send_all(struct engine *engine,
                        const struct comm_context *context,
                        uint64_t number,
                        const struct failure_notice *failure_notice)
{
    const struct frame frame = {
        .kind = FRAME_FAILURE_NOTICE,
        .epoch = engine->roster->epoch,
        .comm = context->id,
        .op = number,
        .tag = failure_notice->status,
        .call.root = failure_notice_pack_rank(failure_notice->rank),
    };
    char told[LIMIT_ERROR_TEXT];

    transport_broadcast_control(
        engine->transport, engine->roster->rank, &frame,
        lost_rank_describe_to_others(engine, failure_notice->why, told));
}

void
failure_notice_send_lost_ranks(struct engine *engine, uint32_t peer)
{
    if (engine->liveness.n_lost == 0)
        return;
    for (uint32_t rank = 0; rank < engine->roster->size; rank++) {
        const struct frame failure_notice = lost_rank_frame(engine, rank);

        if (engine->liveness.ranks[rank].is_lost && rank != peer)
            transport_send_control(engine->transport, peer, &failure_notice,
                                   engine->liveness.ranks[rank].why);
    }
}

_Static_assert(sizeof(((struct hoop_failure *)0)->host) == LIMIT_NAME &&
                   sizeof(((struct hoop_failure *)0)->communicator) ==
                       LIMIT_NAME,
               "names are not cut");

struct hoop_failure
failure_to_hoop_failure(const struct roster *roster,
                        const struct failure_notice *failure_notice)
{
    struct hoop_failure failure = {
        .status = failure_notice->status,
        .rank = failure_notice->rank,
        .waited_for = HOOP_NO_RANK,
    };

    if (failure_notice->rank >= roster->size)
        return failure;
    failure.pid = roster->members[failure_notice->rank].pid;
    snprintf(failure.host, sizeof(failure.host), "%s",
             roster->members[failure_notice->rank].host);
    return failure;
}

/* An operation that returned success here failed elsewhere. The first such
 * failure is the cause. */
static void
failure_notice_defer(struct comm_context *context,
                     const struct failure_notice *failure_notice)
{
    if (context->failure.has_deferred)
        return;
    context->failure.has_deferred = true;
    context->failure.deferred = *failure_notice;
}

/* Returns with what status a call fails here that has failed with status on
 * another rank. A status that only that rank's own part of the call explains
 * becomes HOOP_E_ABORTED. */
static enum hoop_status
status_for_other_ranks(enum hoop_status status)
{
    return status == HOOP_E_MISMATCH || status == HOOP_E_TIMEOUT ||
                   status == HOOP_E_PEER_LOST || status == HOOP_E_RANK_FAILED ||
                   status == HOOP_E_EXHAUSTED || status == HOOP_E_DENIED
               ? status
               : HOOP_E_ABORTED;
}

struct failure_notice
failure_notice_decode(const struct engine *engine,
                      const struct frame *frame,
                      const char *text)
{
    const bool is_known =
        frame->call.root > 0 && frame->call.root <= engine->roster->size;

    return failure_notice_make(
        status_for_other_ranks(status_from_peer(frame->tag)),
        is_known ? frame->call.root - 1 : HOOP_NO_RANK, "%s", text);
}

void
failure_notice_on_message(struct comm_context *context,
                          uint32_t peer,
                          const struct frame *frame,
                          const char *text)
{
    const struct failure_notice failure_notice =
        failure_notice_decode(context->engine, frame, text);
    struct op *op;

    TAILQ_FOREACH(op, &context->engine->progress.running, link)
    {
        if (op_is_message(op) && op->run.context == context &&
            !op->message.flow.is_receive && op->run.number == frame->op &&
            op->message.flow.out.key.peer == peer) {
            op_fail(op, &failure_notice);
            return;
        }
    }
    /* The send has returned; no other call may fail for it. */
    log_debug("engine", "message #%" PRIu64 ", which has been sent: %s",
              message_user_number(frame->op), text);
}

/*
 * Many operations may fail at a time, and their failure notices arrive in any
 * order from all sides. A notice is passed on only if it is new here; otherwise
 * notices would travel for ever.
 */
void
failure_notice_on_ended(struct comm_context *context,
                        uint64_t number,
                        const struct failure_notice *failure_notice)
{
    if (!op_history_mark_failed(&context->op_history, number))
        return;
    failure_record_set(context, number, failure_notice);
    failure_notice_send_all(context->engine, context, number, failure_notice);
    /* The ranks that know of it are about to leave, or to call something else,
     * so the next call here must report it. */
    if (failure_notice->status == HOOP_E_MISMATCH ||
        failure_notice->status == HOOP_E_EXHAUSTED ||
        failure_notice->status == HOOP_E_DENIED)
        failure_notice_defer(context, failure_notice);
}

/* Collective number has failed, which this rank has not begun yet. */
static void
failure_notice_on_early(struct comm_context *context,
                        uint64_t number,
                        const struct failure_notice *failure_notice)
{
    const struct pending_failure pending = {.number = number,
                                            .notice = *failure_notice};

    switch (pending_failure_add(context, &pending)) {
    case PENDING_FAILURE_NEW:
        failure_notice_send_all(context->engine, context, number,
                                failure_notice);
        return;
    case PENDING_FAILURE_KNOWN:
        return;
    case PENDING_FAILURE_NO_ROOM:
        context_revoke_for_lack(context, "no room", failure_notice->why);
        return;
    case PENDING_FAILURE_NO_MEMORY:
        context_revoke_for_lack(context, "no memory", failure_notice->why);
        return;
    }
}

void
failure_notice_on_op(struct comm_context *context,
                     const struct frame *frame,
                     const char *text)
{
    const struct failure_notice failure_notice =
        failure_notice_decode(context->engine, frame, text);
    struct op *op = context_find_running_op(context, frame->op);

    if (op)
        op_fail(op, &failure_notice);
    else if (frame->op < context->next_op_number_to_begin)
        failure_notice_on_ended(context, frame->op, &failure_notice);
    else
        failure_notice_on_early(context, frame->op, &failure_notice);
}

struct failure_notice
lost_rank_failure(const struct engine *engine, uint32_t rank)
{
    char text[LIMIT_ERROR_TEXT];

    return failure_notice_make(lost_rank_status(engine, rank), rank, "%s",
                               lost_rank_describe(engine, rank, text));
}

bool
context_has_lost_member(const struct comm_context *context,
                        struct failure_notice *out_notice)
{
    const struct engine *engine = context->engine;

    for (uint32_t i = 0; engine->liveness.n_lost > 0 && i < context->size;
         i++) {
        if (!engine->liveness.ranks[context->ranks[i]].is_lost)
            continue;
        *out_notice = lost_rank_failure(engine, context->ranks[i]);
        return true;
    }
    return false;
}
