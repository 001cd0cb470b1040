/*
 * engine/wait.h - threads that wait for operations and commands
 *
 * Private to engine/.
 */

#ifndef ENGINE_WAIT_H
#define ENGINE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct backoff;
struct context_command;
struct engine;

/* Count the time in which the progress owner has polled in vain, of which
 * backoff has readings of the clock. */
void
engine_count_idle_polls(struct engine *engine, struct backoff *backoff);

/* Take progress ownership or wait for it; false: the deadline came first. */
bool
progress_acquire_until(struct engine *engine, uint64_t deadline_ns);

/* Have the progress owner execute context_command, and wait until it is
 * done. */
void
context_command_submit_and_wait(struct engine *engine,
                                struct context_command *context_command);

#endif
