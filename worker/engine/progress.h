/*
 * engine/progress.h - progress ownership, and one turn of progress
 *
 * Private to engine/.
 */

#ifndef ENGINE_PROGRESS_H
#define ENGINE_PROGRESS_H

#include <stdbool.h>

struct engine;

/* One turn of progress: execute commands, move data, complete operations.
 * Returns whether anything moved. */
bool
progress_poll(struct engine *engine, int timeout_ms);

/* The same without sleeping, but of the awaited sockets only. */
bool
progress_poll_awaited_sockets(struct engine *engine);

/* The progress owner executes all commands. Returns whether there were any. */
bool
engine_execute_commands(struct engine *engine);

/* Advance operations as far as the data that have arrived permit. */
bool
progress_advance_ops(struct engine *engine);

/* Release the waiters of ended operations. Call it when the progress owner no
 * longer refers to them: a waiter frees its operation. */
void
progress_publish_ended(struct engine *engine);

/* Take progress ownership; false: another thread has it. */
bool
progress_try_acquire(struct engine *engine);

/* Give up progress ownership and name a successor. */
void
progress_release(struct engine *engine);

/* Hand progress ownership to a waiter if there is one, else it is free. Returns
 * whether there was one. The caller holds the lock. */
bool
progress_elect_next_owner(struct engine *engine);

/* The progress owner offers its processor to another rank. */
void
progress_yield(struct engine *engine);

/* Write 8 bytes to a descriptor that a program waits on. */
void
notification_fd_write(int fd);

#endif
