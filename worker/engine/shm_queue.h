/*
 * engine/shm_queue.h - the run queues of shared-memory operations
 *
 * Private to engine/. Thread: the progress owner's.
 */

#ifndef ENGINE_SHM_QUEUE_H
#define ENGINE_SHM_QUEUE_H

#include <stdbool.h>

struct engine;
struct op;

/* Add op, which has begun, to its context's shared-memory run queue if it
 * belongs there; remove it when it has ended. */
void
shm_queue_add(struct op *op);
void
shm_queue_remove(struct op *op);

/* Mark the first operations that can move as dirty. */
void
shm_queue_mark_ready(struct engine *engine);

/* Undo shm_queue_prepare_sleep(), then shm_queue_mark_ready(). */
void
shm_queue_stop_sleeping(struct engine *engine);

/* Announce in the shared regions that this rank will sleep. Returns false if
 * something can move already. */
bool
shm_queue_prepare_sleep(struct engine *engine);

#endif
