/*
 * engine/context_command.h - what its owner has done with a context by the progress owner
 *
 * When all that was handed in before has begun: engine/command_queue.c. Private to
 * engine/.
 */

#ifndef ENGINE_CONTEXT_COMMAND_H
#define ENGINE_CONTEXT_COMMAND_H

#include "engine/state.h"

/* As the number of an operation that a failure notice is on: all of the communicator. */
static const uint64_t FAILURE_OF_ALL = 0;

enum context_command_kind {
    CONTEXT_COMMAND_END,
    CONTEXT_COMMAND_REVOKE,
    CONTEXT_COMMAND_REVOKE_IF_FAILED, /* revoke it if it has failed */
    CONTEXT_COMMAND_WATCH,
    CONTEXT_COMMAND_QUERY_FAILED, /* at who has failed */
    CONTEXT_COMMAND_QUERY_LOST,
    CONTEXT_COMMAND_DECLINE, /* tell that this rank cannot call what comes next */
    CONTEXT_COMMAND_GIVE_UP, /* this rank, whatever the context */
};

/* A context that its owner waits to have closed, or dealt with in the other
 * ways; memory of the waiting. */
struct context_command {
    TAILQ_ENTRY(context_command) link;
    struct comm_context *context; /* GIVE_UP: NULL */
    enum context_command_kind kind;
    const char *why;         /* REVOKE, DECLINE, GIVE_UP */
    bool was_new;            /* GIVE_UP: it was not lost, and is not leaving */
    enum hoop_status status; /* DECLINE */
    uint64_t
        unfinished; /* REVOKE_IF_FAILED: the first call that did not end well */
    enum context_watch watch; /* WATCH */
    bool *failed; /* QUERY_FAILED, QUERY_LOST: [rank], to be filled */
    struct waiter waiter;
    bool is_done;
};

/* failure_notice.c, by the progress owner: the next collective fails on all members. */
void
context_decline_execute(struct comm_context *context,
                        enum hoop_status status,
                        const char *why);

/* failure_detector.c, by the progress owner: this rank gives up. Returns whether that is news. */
bool
engine_give_up_execute(struct engine *engine, const char *why);

/* revocation.c, by the progress owner. */

/* A member, or this rank, has revoked context. Once. */
void
context_revoke_told(struct comm_context *context,
                    const struct failure_notice *failure_notice);
/* A member asks: had it not opened context when it was told? Whether context is
 * revoked; then it is told once more. */
bool
revocation_answer(const struct comm_context *context, uint32_t world_rank);
/* This rank revokes it. */
void
revocation_execute(struct comm_context *context, const char *why);
uint64_t
revocation_execute_if_failed(struct comm_context *context);
/* A member of it has been lost. */
void
member_watch_end(struct engine *engine, uint32_t rank);
void
member_watch_set(struct comm_context *context, enum context_watch watch);
/* ... before op began. */
bool
op_refuse_revoked(struct op *op);
void
context_query_failed(const struct comm_context *context, bool *out_has_failed);
void
context_query_lost(const struct comm_context *context, bool *out_is_lost);

#endif
