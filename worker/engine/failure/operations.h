/*
 * engine/failure/operations.h - how failure/ sees operations
 *
 * Private to engine/.
 *
 * failure/ finds the operations that a failure concerns, reads their state, and
 * does no more with them than the engine's functions do that are named here:
 *
 * - op_fail(), op_fail_without_notice(): end it (engine/operation_end.h);
 * - shm_executor_list_awaited(), shm_executor_awaited_rank(): for whom it waits
 *   in shared memory;
 * - shm_queue_mark_ready(), progress_advance_ops(): let each use what has come
 *   before a rank is declared lost.
 *
 * failure/ calls nothing else of the engine that does something. A style test
 * (cycles) holds the list.
 *
 * Thread: the progress owner's.
 */

#ifndef ENGINE_FAILURE_OPERATIONS_H
#define ENGINE_FAILURE_OPERATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/operation_end.h"

struct comm_context;
struct engine;
struct op;

/* Returns the open context of that id, or NULL. */
struct comm_context *
engine_find_context(struct engine *engine, uint64_t id);
/* Returns whether world_rank is a member. */
bool
context_has_member(const struct comm_context *context, uint32_t world_rank);
/* Returns whether op cannot end without world_rank. */
bool
op_needs_rank(const struct op *op, uint32_t world_rank);
/* Returns the collective of that number that is running here, or NULL. */
struct op *
context_find_running_op(const struct comm_context *context, uint64_t number);
/* Returns whether op is the receive of a message from source with that tag that
 * has not been matched. */
bool
op_receives_from(const struct op *op, uint32_t source, uint64_t tag);

#endif
