/*
 * engine/failure/revocation.c - communicators that no member may use any more
 *
 * A rank that finds that a communicator must be given up tells all members,
 * which pass it on: running operations end, and later calls fail with the same
 * text. So all members come to the point where they decide what to do,
 * including those that wait for a rank that waits elsewhere, and those that
 * have noticed nothing.
 */

#include "engine/failure/revocation.h"

#include "base/error.h"
#include "base/log.h"
#include "engine/context.h"
#include "engine/failure/failure_notice.h"
#include "engine/failure/lost_rank.h"
#include "engine/failure/operations.h"
#include "engine/state.h"

static struct frame
revocation_frame(const struct comm_context *context)
{
    return (struct frame){
        .kind = FRAME_FAILURE_NOTICE,
        .epoch = context->engine->roster->epoch,
        .comm = context->id,
        .op = FAILURE_OP_NUMBER_WHOLE_COMM,
        .tag = context->failure.revocation.status,
        .call.root = failure_notice_pack_rank(context->failure.revocation.rank),
    };
}

bool
revocation_send_if_revoked(const struct comm_context *context,
                           uint32_t world_rank)
{
    const struct frame failure_notice = revocation_frame(context);
    char told[LIMIT_ERROR_TEXT];

    if (context->failure.is_revoked)
        transport_send_control(
            context->engine->transport, world_rank, &failure_notice,
            lost_rank_describe_to_others(
                context->engine, context->failure.revocation.why, told));
    return context->failure.is_revoked;
}

/* Connects to members that are not connected yet. */
static void
revocation_send_all(const struct comm_context *context)
{
    struct engine *engine = context->engine;
    const struct frame failure_notice = revocation_frame(context);
    char told[LIMIT_ERROR_TEXT];
    const char *text = lost_rank_describe_to_others(
        engine, context->failure.revocation.why, told);

    for (uint32_t i = 0; i < context->size; i++) {
        const uint32_t rank = context->ranks[i];

        if (!rank_is_gone(&engine->liveness.ranks[rank]))
            transport_send_control_connect(engine->transport, rank,
                                           &failure_notice, text);
    }
}

void
context_revoke_by_notice(struct comm_context *context,
                         const struct failure_notice *failure_notice)
{
    struct engine *engine = context->engine;
    struct op *next;

    if (context->failure.is_revoked || engine->is_leaving)
        return;
    context->failure.is_revoked = true;
    context->failure.revocation = *failure_notice;
    revocation_send_all(context);
    for (struct op *op = TAILQ_FIRST(&engine->progress.running); op;
         op = next) {
        next = TAILQ_NEXT(op, link);
        if (op->run.context == context)
            op_fail_without_notice(op, &context->failure.revocation);
    }
}

void
context_revoke_for_lack(struct comm_context *context,
                        const char *lack,
                        const char *what)
{
    const struct roster *roster = context->engine->roster;
    char name[ROSTER_NAME_MAX];
    const struct failure_notice failure_notice = failure_notice_make(
        HOOP_E_EXHAUSTED, roster->rank,
        "%s has %s to remember what it is told of a later call: %s",
        roster_format_name(roster, roster->rank, name), lack, what);

    log_warning("engine", "%s", failure_notice.why);
    context_revoke_by_notice(context, &failure_notice);
}

void
revocation_receive(struct comm_context *context,
                   const struct frame *frame,
                   const char *text)
{
    const struct failure_notice failure_notice =
        failure_notice_decode(context->engine, frame, text);

    context_revoke_by_notice(context, &failure_notice);
}

/* A lost member explains more than that a rank did not want to go on. */
void
revocation_execute(struct comm_context *context, const char *why)
{
    const struct roster *roster = context->engine->roster;
    struct failure_notice failure_notice;
    char name[ROSTER_NAME_MAX];

    if (context->failure.is_revoked)
        return;
    if (!context_has_lost_member(context, &failure_notice))
        failure_notice = failure_notice_make(
            HOOP_E_ABORTED, roster->rank, "%s has revoked the communicator: %s",
            roster_format_name(roster, roster->rank, name), why);
    context_revoke_by_notice(context, &failure_notice);
}

bool
op_fail_if_revoked(struct op *op)
{
    const struct comm_context *context = op->run.context;

    if (!context->failure.is_revoked)
        return false;
    op_fail_without_notice(op, &context->failure.revocation);
    return true;
}

/* Returns whether a member has left in good order; describes the first. */
static bool
context_has_departed_member(const struct comm_context *context,
                            struct failure_notice *out_notice)
{
    const struct engine *engine = context->engine;
    char name[ROSTER_NAME_MAX];

    for (uint32_t i = 0; engine->liveness.n_left > 0 && i < context->size;
         i++) {
        const uint32_t rank = context->ranks[i];

        if (!engine->liveness.ranks[rank].has_left)
            continue;
        *out_notice =
            failure_notice_make(HOOP_E_PEER_LOST, rank, "%s has left the job",
                                roster_format_name(engine->roster, rank, name));
        return true;
    }
    return false;
}

/* Revoke with the original reason, so that members which have not heard it do
 * not learn less. */
static void
revoke_with_original_cause(struct comm_context *context)
{
    struct failure_notice failure_notice;

    if (context_has_lost_member(context, &failure_notice) ||
        context_has_departed_member(context, &failure_notice))
        context_revoke_by_notice(context, &failure_notice);
    else if (context->failure.number > 0)
        context_revoke_by_notice(context, &context->failure.notice);
    else
        revocation_execute(context, "it has failed and is shrunk");
}

/* The context has failed if a member is lost or a call has ended badly. */
uint64_t
revocation_execute_if_failed(struct comm_context *context)
{
    struct failure_notice failure_notice;

    if (context->failure.first_number ||
        context_has_lost_member(context, &failure_notice))
        revoke_with_original_cause(context);
    return context_user_call_number(
        context, context->failure.first_number
                     ? context->failure.first_number
                     : atomic_load(&context->next_op_number));
}

void
member_watch_on_loss(struct engine *engine, uint32_t rank)
{
    struct comm_context *context;

    TAILQ_FOREACH(context, &engine->contexts.watched, watched_link)
    {
        if (context->must_revoke_on_loss && context_has_member(context, rank))
            revoke_with_original_cause(context);
    }
}

void
member_watch_set(struct comm_context *context, enum context_watch watch)
{
    struct engine *engine = context->engine;
    const bool is_watched = watch != CONTEXT_NOT_WATCHED;

    context->must_revoke_on_loss = watch == CONTEXT_REVOKE_ON_LOSS;
    if (is_watched == context->is_watched)
        return;
    context->is_watched = is_watched;
    if (!is_watched) {
        TAILQ_REMOVE(&engine->contexts.watched, context, watched_link);
        return;
    }
    TAILQ_INSERT_TAIL(&engine->contexts.watched, context, watched_link);
    engine->progress.deadline_ns = 0;
}

void
context_list_failed_members(const struct comm_context *context,
                            bool *out_has_failed)
{
    for (uint32_t i = 0; i < context->size; i++)
        out_has_failed[i] =
            rank_is_gone(&context->engine->liveness.ranks[context->ranks[i]]);
}

void
context_list_lost_members(const struct comm_context *context, bool *out_is_lost)
{
    for (uint32_t i = 0; i < context->size; i++)
        out_is_lost[i] =
            context->engine->liveness.ranks[context->ranks[i]].is_lost;
}
