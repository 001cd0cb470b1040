/*
 * engine/wait.h - threads that wait for operations and commands
 *
 * Private to engine/.
 */

#ifndef ENGINE_WAIT_H
#define ENGINE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct engine;

/* Take progress ownership or wait for it; false: the deadline came first. */
bool
progress_acquire_until(struct engine *engine, uint64_t deadline_ns);

#endif
