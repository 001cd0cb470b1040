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

enum context_command_kind {
    CONTEXT_COMMAND_END,
    CONTEXT_COMMAND_REVOKE,
    CONTEXT_COMMAND_REVOKE_IF_FAILED,
    CONTEXT_COMMAND_WATCH,
    CONTEXT_COMMAND_QUERY_FAILED, /* which members are lost or have left */
    CONTEXT_COMMAND_QUERY_LOST,
    /* Tell members that this rank cannot make the next call. */
    CONTEXT_COMMAND_FAIL_NEXT_CALL,
    CONTEXT_COMMAND_GIVE_UP, /* of this rank, whatever the context */
    CONTEXT_COMMAND_LEAVE,   /* end the operations of all contexts */
};

/* A command and the thread that waits for it. It lives in that thread's
 * memory. */
struct context_command {
    TAILQ_ENTRY(context_command) link;
    struct comm_context *context; /* GIVE_UP, LEAVE: NULL */
    enum context_command_kind kind;
    const char *why;         /* for REVOKE, FAIL_NEXT_CALL and GIVE_UP */
    bool was_new;            /* GIVE_UP: neither lost nor leaving before */
    enum hoop_status status; /* for FAIL_NEXT_CALL */
    /* REVOKE_IF_FAILED: number of the first call that did not end well. */
    uint64_t unfinished;
    enum context_watch watch; /* for WATCH */
    bool *failed; /* QUERY_FAILED, QUERY_LOST: result by context rank */
    struct waiter waiter;
    bool is_done;
};

#endif
