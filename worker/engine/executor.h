/*
 * engine/executor.h - executes the steps of a plan as the data permit
 *
 * Private to engine/. Thread: the progress owner's.
 */

#ifndef ENGINE_EXECUTOR_H
#define ENGINE_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/op.h"

/* Activate the first steps of the plan. */
enum hoop_status
executor_begin(struct op *op);

/* Returns whether executor_advance() may find something to do before anything is
 * sent or received: a local step, a round in shared memory, or the end, if no
 * step is left. A new operation usually only has to send. */
bool
executor_can_progress(const struct op *op);

/* Do all that the data permit. *out_is_complete becomes true when every step is
 * done. */
enum hoop_status
executor_advance(struct op *op, bool *out_is_complete);

/* Cancel all flows: no step touches a buffer any more. */
void
executor_abort(struct op *op);

/* The transport has taken n_bytes of a send. */
void
executor_on_sent(struct step_flow *flow, uint64_t n_bytes);

/* n_bytes of a receive have arrived: at piece, to be combined, or in place
 * if piece is NULL. */
void
executor_on_received(struct step_flow *flow,
                     const uint8_t *piece,
                     size_t n_bytes);

/* The bytes of flow were received or sent in the given encoding: cache it for
 * the sends of the same operation that will send the same bytes. */
void
executor_on_encoded(struct step_flow *flow, const struct encoded *encoded);

/* Returns the world rank of rank in the current plan. */
uint32_t
op_member_world_rank(const struct op *op, uint32_t rank);

/* Plan op, which runs inline and not as an operation: op->cache.inline_plan. It
 * has no steps if they are too many or their blocks too large, and is not made
 * if there is no memory. */
void
executor_plan_inline(struct op *op);

/* Do inline all steps that can be done at once. TRANSPORT_INLINE_NOT_ARRIVED:
 * call again soon; TRANSPORT_INLINE_NEEDS_PROGRESS: an operation must go on. */
enum transport_inline_result
executor_advance_inline(struct op *op);

/* Let op, which has not begun, go on where inline_op, the same call, has come
 * to: it skips the steps that are done, and takes over the scratch memory. */
void
executor_continue_inline(struct op *op, struct op *inline_op);

/* Free what an operation keeps for its next use. */
void
executor_deinit(struct op *op);

/* Returns one more zeroed flow of op, or NULL if there is no memory. */
struct step_flow *
op_flow_alloc(struct op *op);

/* Keep flow for the next op_flow_alloc(). */
void
op_flow_free(struct step_flow *flow);

/* Have room for the scratch elements that a plan of that shape needs. */
enum hoop_status
op_scratch_ensure(struct op *op, const struct plan_shape *shape);

#endif
