/*
 * engine/command_queue.h - what other threads hand to the progress owner
 *
 * Private to engine/.
 */

#ifndef ENGINE_COMMAND_QUEUE_H
#define ENGINE_COMMAND_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/state.h"

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

/* Take the next command; if there is none, the result is zeroed. */
struct command_batch
command_queue_take(struct engine *engine);

/* Close the connection in a command that will not be executed. */
void
command_discard(const struct command *command);

/* Tell the progress owner what content says about content->rank. Of two reasons
 * that it has not read yet, the graver is kept, or else the first. Needs no
 * memory. Thread: any. */
void
engine_post_notice(struct engine *engine, const struct notice *content);

/* Have the progress owner call engine_drop_stale_frames(). Needs no memory.
 * Thread: any. */
void
engine_request_stale_frame_drop(struct engine *engine);

/* Wake the progress owner if it sleeps, to read the command queue. */
void
engine_wake_progress_owner(struct engine *engine);

#endif
