/*
 * engine/context_command.h - what a thread has the progress owner do with a
 * context
 *
 * A command runs when all operations handed in before have begun:
 * engine/command_queue.c. Private to engine/.
 */

#ifndef ENGINE_CONTEXT_COMMAND_H
#define ENGINE_CONTEXT_COMMAND_H

#include "engine/state.h"

/* The operation number of a failure notice that is on the whole
 * communicator. */
static const uint64_t FAILURE_OP_NUMBER_WHOLE_COMM = 0;

enum context_control_kind {
    CONTEXT_CONTROL_END,
    CONTEXT_CONTROL_REVOKE,
    CONTEXT_CONTROL_REVOKE_IF_FAILED,
    CONTEXT_CONTROL_WATCH,
    CONTEXT_CONTROL_QUERY_FAILED, /* which members are lost or have left */
    CONTEXT_CONTROL_QUERY_LOST,
    /* Tell members that this rank cannot make the next call. */
    CONTEXT_CONTROL_FAIL_NEXT_CALL,
    CONTEXT_CONTROL_GIVE_UP, /* of this rank, whatever the context */
};

/* A command and the thread that waits for it. It lives in that thread's
 * memory. */
struct context_command {
    TAILQ_ENTRY(context_command) link;
    struct comm_context *context; /* GIVE_UP: NULL */
    enum context_control_kind kind;
    const char *why;         /* for REVOKE, DECLINE and GIVE_UP */
    bool was_new;            /* GIVE_UP: neither lost nor leaving before */
    enum hoop_status status; /* for DECLINE */
    /* REVOKE_IF_FAILED: number of the first call that did not end well. */
    uint64_t unfinished;
    enum context_watch watch; /* for WATCH */
    bool *failed; /* QUERY_FAILED, QUERY_LOST: result by context rank */
    struct waiter waiter;
    bool is_done;
};

/* Have the progress owner execute context_command, and wait until it is
 * done. */
void
context_command_submit_and_wait(struct engine *engine,
                                struct context_command *context_command);

/* failure_notice.c, by the progress owner: make the next collective fail on all
 * members. */
void
context_fail_next_execute(struct comm_context *context,
                          enum hoop_status status,
                          const char *why);

/* failure_detector.c, by the progress owner: this rank gives up. Returns
 * whether it was neither lost nor leaving. */
bool
engine_give_up_execute(struct engine *engine, const char *why);

/* revocation.c, by the progress owner. */

/* A member or this rank has revoked context. Only the first call has an
 * effect. */
void
context_revoke_by_notice(struct comm_context *context,
                         const struct failure_notice *failure_notice);
/* A member asks about context, perhaps because it had not opened context when
 * the revocation was announced. Returns whether context is revoked; if so, the
 * member is told again. */
bool
revocation_send_if_revoked(const struct comm_context *context,
                           uint32_t world_rank);
/* Revoke context on behalf of this rank. */
void
revocation_execute(struct comm_context *context, const char *why);
/* context_revoke_if_failed(), by the progress owner. */
uint64_t
revocation_execute_if_failed(struct comm_context *context);
/* rank has been lost: revoke watched contexts of which it is a member. */
void
member_watch_on_loss(struct engine *engine, uint32_t rank);
/* context_watch(), by the progress owner. */
void
member_watch_set(struct comm_context *context, enum context_watch watch);
/* End op if its context was revoked before it began; returns whether it was. */
bool
op_fail_if_revoked(struct op *op);
/* context_get_failed_members() and context_get_lost_members(), by the progress owner. */
void
context_list_failed_members(const struct comm_context *context,
                            bool *out_has_failed);
void
context_list_lost_members(const struct comm_context *context,
                          bool *out_is_lost);

#endif
