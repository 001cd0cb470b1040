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

/* Add op, which has begun on a context with a shared region, to the
 * context's run queue if it may come to use shared memory. */
void
shm_queue_add(struct op *op);

/* Remove op, which has ended, from the queue that it is in. */
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
